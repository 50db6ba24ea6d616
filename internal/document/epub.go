package document

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"

	"longhaul/internal/task"
)

// Parts with a fixed name in an EPUB.
const (
	epubContainer  = "META-INF/container.xml"
	epubEncryption = "META-INF/encryption.xml"
)

// epubPackage is a package document: title, files and reading order.
type epubPackage struct {
	Title    string `xml:"metadata>title"`
	Manifest []struct {
		ID         string `xml:"id,attr"`
		Href       string `xml:"href,attr"`
		MediaType  string `xml:"media-type,attr"`
		Properties string `xml:"properties,attr"`
	} `xml:"manifest>item"`
	Spine []struct {
		ID string `xml:"idref,attr"`
	} `xml:"spine>itemref"`
}

// readEPUB extracts the chapters of a book in reading order.
func readEPUB(j *job) (Text, error) {
	a, err := openArchive(j)
	if err != nil {
		return Text{}, err
	}
	if err := checkEncryption(a); err != nil {
		return Text{}, err
	}
	title, chapters, err := spine(a)
	if err != nil {
		return Text{}, err
	}
	out, text := writer{limit: j.limit}, Text{}
	for n, chapter := range chapters {
		data, err := a.part(chapter)
		switch {
		case err == nil:
			page, _ := decode(data, "", true)
			out.WriteString(strings.TrimSpace(markdownOf(openTags(page))) + "\n\n")
		case errors.Is(err, errNoPart):
			text.Warnings = append(text.Warnings, "chapter "+path.Base(chapter)+" is missing")
		default:
			return Text{}, err
		}
		if out.over() {
			return Text{}, tooMuchText(j.limit)
		}
		j.progress(n+1, len(chapters))
	}
	if blank(out.String()) {
		return Text{}, task.Errorf(task.NoText, "the pages of the EPUB are pictures without text; run OCR on it first")
	}
	text.Markdown = titled(title, out.String())
	return text, nil
}

// spine returns a book's title and the part names of its chapters.
func spine(a *archive) (title string, chapters []string, err error) {
	var container struct {
		Roots []struct {
			Path string `xml:"full-path,attr"`
		} `xml:"rootfiles>rootfile"`
	}
	if err := a.decode(epubContainer, &container); err != nil || len(container.Roots) == 0 {
		return "", nil, verdictOr(err, "the EPUB does not name its package document")
	}
	root := container.Roots[0].Path
	var pkg epubPackage
	if err := a.decode(root, &pkg); err != nil {
		return "", nil, verdictOr(err, "the package document of the EPUB cannot be read")
	}
	files := make(map[string]string, len(pkg.Manifest))
	for _, item := range pkg.Manifest {
		page := strings.Contains(item.MediaType, "html") || item.MediaType == ""
		if page && !strings.Contains(" "+item.Properties+" ", " nav ") {
			files[item.ID] = item.Href
		}
	}
	for _, ref := range pkg.Spine {
		if href, ok := files[ref.ID]; ok {
			chapters = append(chapters, resolveHref(path.Dir(root), href))
		}
	}
	return pkg.Title, chapters, nil
}

// verdictOr returns a verdict on the document unchanged and reports any other error as damage.
func verdictOr(err error, detail string) error {
	if ours(err) {
		return err
	}
	return damaged(detail, err)
}

// resolveHref returns the part name for a relative reference.
func resolveHref(folder, href string) string {
	href, _, _ = strings.Cut(href, "#")
	if plain, err := url.PathUnescape(href); err == nil {
		href = plain
	}
	return path.Join(folder, href)
}

// checkEncryption refuses books with encrypted chapters. Obfuscated fonts are accepted.
func checkEncryption(a *archive) error {
	var list struct {
		Methods []struct {
			Algorithm string `xml:"Algorithm,attr"`
		} `xml:"EncryptedData>EncryptionMethod"`
	}
	if err := a.decode(epubEncryption, &list); err != nil {
		return nil // missing or unreadable: nothing is known to be encrypted
	}
	for _, m := range list.Methods {
		if m.Algorithm != "http://www.idpf.org/2008/embedding" && m.Algorithm != "http://ns.adobe.com/pdf/enc#RC" {
			return task.Errorf(task.PasswordRequired, "the EPUB is protected by DRM; send a copy without DRM")
		}
	}
	return nil
}

var (
	selfClosed = regexp.MustCompile(`<([a-zA-Z][\w:-]*)((?:\s[^<>]*)?)/>`)
	voidTags   = map[string]bool{
		"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true,
		"input": true, "link": true, "meta": true, "param": true, "source": true, "track": true, "wbr": true,
	}
)

// openTags rewrites <a/> as <a></a>. XHTML may self-close any element; an HTML parser would leave it open and treat
// the rest of the page as its content.
func openTags(page string) string {
	return selfClosed.ReplaceAllStringFunc(page, func(tag string) string {
		m := selfClosed.FindStringSubmatch(tag)
		if voidTags[strings.ToLower(m[1])] {
			return tag
		}
		return "<" + m[1] + m[2] + "></" + m[1] + ">"
	})
}
