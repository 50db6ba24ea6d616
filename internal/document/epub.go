package document

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"

	"longhaul/internal/task"
)

// Where an EPUB says what is in it.
const (
	epubContainer  = "META-INF/container.xml"
	epubEncryption = "META-INF/encryption.xml"
)

// epubPackage is what a package document says: title, files, and the order to read them in.
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

// readEPUB takes the chapters of a book in the order of reading.
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
			text.Warnings = append(text.Warnings, "the chapter "+path.Base(chapter)+" is missing")
		default:
			return Text{}, err
		}
		if out.over() {
			return Text{}, tooMuchText(j.limit)
		}
		j.progress(n+1, len(chapters))
	}
	if blank(out.String()) {
		return Text{}, task.Errorf(task.NoText, "its pages are pictures with no text in them; run OCR over it first")
	}
	text.Markdown = titled(title, out.String())
	return text, nil
}

// spine gives a book's title and the names of its chapters.
func spine(a *archive) (title string, chapters []string, err error) {
	var container struct {
		Roots []struct {
			Path string `xml:"full-path,attr"`
		} `xml:"rootfiles>rootfile"`
	}
	if err := a.decode(epubContainer, &container); err != nil || len(container.Roots) == 0 {
		return "", nil, verdictOr(err, "it does not say where its contents are")
	}
	root := container.Roots[0].Path
	var pkg epubPackage
	if err := a.decode(root, &pkg); err != nil {
		return "", nil, verdictOr(err, "its list of contents cannot be read")
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

// verdictOr keeps an error about limits, and makes anything else one about damage.
func verdictOr(err error, what string) error {
	if ours(err) {
		return err
	}
	return damaged(what, err)
}

// resolveHref makes the name of a part from a reference to it.
func resolveHref(folder, href string) string {
	href, _, _ = strings.Cut(href, "#")
	if plain, err := url.PathUnescape(href); err == nil {
		href = plain
	}
	return path.Join(folder, href)
}

// checkEncryption refuses books whose chapters are encrypted. Fonts may be, against copying.
func checkEncryption(a *archive) error {
	var list struct {
		Methods []struct {
			Algorithm string `xml:"Algorithm,attr"`
		} `xml:"EncryptedData>EncryptionMethod"`
	}
	if err := a.decode(epubEncryption, &list); err != nil {
		return nil // there is none, or none that could be followed
	}
	for _, m := range list.Methods {
		if m.Algorithm != "http://www.idpf.org/2008/embedding" && m.Algorithm != "http://ns.adobe.com/pdf/enc#RC" {
			return task.Errorf(task.PasswordRequired, "the book is protected against copying (DRM); send a copy without")
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

// openTags writes <a/> as <a></a>: XHTML may close any element at once, HTML would leave it open
// and take the rest of the page for its content.
func openTags(page string) string {
	return selfClosed.ReplaceAllStringFunc(page, func(tag string) string {
		m := selfClosed.FindStringSubmatch(tag)
		if voidTags[strings.ToLower(m[1])] {
			return tag
		}
		return "<" + m[1] + m[2] + "></" + m[1] + ">"
	})
}
