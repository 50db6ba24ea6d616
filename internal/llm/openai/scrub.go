package openai

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// Lengths of what is kept of a provider's words, in characters.
const (
	maxMessage = 500
	maxSnippet = 200 // of a body that is not the JSON of an error
	maxCode    = 100
)

// secrets are things that look like keys, ours or somebody else's. Providers like to repeat them,
// partly starred.
var secrets = regexp.MustCompile(`(?i)\b(?:bearer\s+[^\s"',;]{4,}|(?:sk|pk|rk|ak)-[a-z0-9_*.\-]{8,})`)

// scrub makes a provider's words fit to be shown.
type scrub struct {
	key string // never to be seen
}

// line gives text as one line of at most limit characters, without keys and without markup.
func (s scrub) line(text string, limit int) string {
	if len(s.key) >= 4 {
		text = strings.ReplaceAll(text, s.key, "***")
	}
	text = secrets.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "***")
	if markup(text) {
		text = plain(text)
	}
	return shorten(strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " "), limit)
}

// shorten cuts text after limit characters, and shows that it did.
func shorten(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// markup reports whether text is a page, or has one in it.
func markup(text string) bool {
	head := strings.ToLower(text[:min(len(text), 2<<10)])
	return strings.Contains(head, "<html") || strings.Contains(head, "<!doctype") || strings.Contains(head, "<body") ||
		strings.HasPrefix(strings.TrimSpace(head), "<")
}

// plain gives the words of a page.
func plain(page string) string {
	var words strings.Builder
	tokens, hidden := html.NewTokenizer(strings.NewReader(page)), false
	for words.Len() < 4*maxSnippet {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		name, _ := tokens.TagName()
		switch tag := string(name); {
		case tag == "script" || tag == "style":
			hidden = kind == html.StartTagToken
		case kind == html.TextToken && !hidden:
			words.WriteString(" " + string(tokens.Text()))
		}
	}
	return shorten(strings.TrimSpace(words.String()), maxSnippet)
}
