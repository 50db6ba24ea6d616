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

// shortArticle is the minimum length, in characters, of an extracted article; shorter results are discarded.
const shortArticle = 200

// readHTML extracts the main content of a page, without menus, adverts and footers. A page without a recognizable
// article is converted as a whole.
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

// article returns the title and main content of a page; both are empty if none is found.
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

// titled adds a title as heading, unless the text begins with it.
func titled(title, text string) string {
	title = strings.Join(strings.Fields(title), " ")
	if title == "" || strings.Contains(text[:min(len(text), len(title)+100)], title) {
		return text
	}
	return "# " + title + "\n\n" + text
}

// markdownOf converts a whole page. A page nested too deeply for the parser is reduced to its bare text.
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

// simplify removes nodes without text value: pictures, scripts, link targets, ruby annotations.
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

// unwrap replaces an element by its children.
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

// bareText returns the text between tags, for markup that cannot be parsed into a tree.
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
