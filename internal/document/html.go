package document

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// shortArticle is how many characters an article found in a page must have to be believed.
const shortArticle = 200

// readHTML takes the main content of a page: what is left without menus, adverts and footers. A
// page in which no article can be made out is taken whole.
func readHTML(j *job) (Text, error) {
	data, err := j.all()
	if err != nil {
		return Text{}, err
	}
	page, charset := decode(data, j.charset, true)
	text := Text{Charset: charset}
	if title, content := article(page); title != "" || content != "" {
		text.Markdown = titled(title, content)
		return text, nil
	}
	text.Markdown = markdownOf(page)
	return text, nil
}

// article finds the main content of a page and its title; both are empty when there is none.
func article(page string) (title, content string) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", ""
	}
	found, err := readability.FromDocument(doc, &url.URL{Scheme: "https", Host: "page.invalid"})
	if err != nil || found.Node == nil {
		return "", ""
	}
	simplify(found.Node)
	content, err = convertNode(found.Node)
	if err != nil || utf8.RuneCountInString(content) < shortArticle {
		return "", ""
	}
	return found.Title(), content
}

// titled puts a title before a text that does not begin with it.
func titled(title, text string) string {
	title = strings.Join(strings.Fields(title), " ")
	if title == "" || strings.Contains(text[:min(len(text), len(title)+100)], title) {
		return text
	}
	return "# " + title + "\n\n" + text
}

// markdownOf converts a whole page. One that is nested too deeply to parse gives its bare text.
func markdownOf(page string) string {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return bareText(page)
	}
	simplify(doc)
	text, err := convertNode(doc)
	if err != nil {
		return bareText(page)
	}
	return text
}

func convertNode(node *html.Node) (string, error) {
	conv := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()),
		converter.WithEscapeMode(converter.EscapeModeDisabled),
	)
	out, err := conv.ConvertNode(node)
	return string(out), err
}

// simplify takes out of a tree what says nothing in a text: pictures, scripts, the addresses of
// links, readings beside characters.
func simplify(node *html.Node) {
	for child := node.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type == html.CommentNode, child.Type == html.ElementNode && silent(child.DataAtom):
			node.RemoveChild(child)
		case child.Type == html.ElementNode && (child.DataAtom == atom.A || child.DataAtom == atom.Ruby || child.DataAtom == atom.Rb):
			simplify(child)
			unwrap(child)
		default:
			simplify(child)
		}
		child = next
	}
}

// unwrap puts the children of an element in its place.
func unwrap(node *html.Node) {
	parent := node.Parent
	for child := node.FirstChild; child != nil; child = node.FirstChild {
		node.RemoveChild(child)
		parent.InsertBefore(child, node)
	}
	parent.RemoveChild(node)
}

func silent(element atom.Atom) bool {
	switch element {
	case atom.Img, atom.Picture, atom.Svg, atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Object,
		atom.Embed, atom.Video, atom.Audio, atom.Canvas, atom.Template, atom.Rt, atom.Rp, atom.Head, atom.Link, atom.Meta:
		return true
	}
	return false
}

// bareText is all text between tags, for markup that no tree can be made of.
func bareText(page string) string {
	var b strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(page))
	quiet := false
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken, html.EndTagToken:
			name, _ := tokens.TagName()
			tag := atom.Lookup(name)
			if tag == atom.Script || tag == atom.Style {
				quiet = !quiet
			}
			if tag == atom.P || tag == atom.Div || tag == atom.Br || tag == atom.Li || tag == atom.Tr {
				b.WriteByte('\n')
			}
		case html.TextToken:
			if !quiet {
				b.Write(tokens.Text())
			}
		}
	}
}
