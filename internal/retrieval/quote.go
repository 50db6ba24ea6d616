package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// shortest is the minimum length of a quote in bytes: four letters, two Chinese characters.
const shortest = 4

// Quoted finds a quote in a text and returns its byte range. It ignores white space, Markdown characters and variants
// of quotation marks, dashes and ligatures, but not case.
func Quoted(text, quote string) (start, end int, ok bool) {
	wanted, _ := bare(strings.Trim(strings.TrimSpace(quote), "\"“”„«»…"))
	wanted = strings.TrimSuffix(strings.TrimPrefix(wanted, "..."), "...")
	if len(wanted) < shortest {
		return 0, 0, false
	}
	plain, places := bare(text)
	at := strings.Index(plain, wanted)
	if at < 0 {
		return 0, 0, false
	}
	last := places[at+len(wanted)-1]
	_, size := utf8.DecodeRuneInString(text[last:])
	return places[at], last + size, true
}

// bare normalizes a text for comparison, and returns for each byte of the result its offset in the text.
func bare(text string) (plain string, places []int) {
	var b strings.Builder
	for at, r := range text {
		for _, part := range shape(r) {
			if part = dropMarks(part); part < 0 || unicode.IsSpace(part) || unicode.Is(unicode.Cf, part) {
				continue
			}
			b.WriteRune(part)
			for len(places) < b.Len() {
				places = append(places, at)
			}
		}
	}
	return b.String(), places
}

// shape returns the plain form of a character.
func shape(r rune) string {
	switch {
	case r < utf8.RuneSelf:
		return string(r)
	case strings.ContainsRune("‘’‚‛′", r):
		return "'"
	case strings.ContainsRune("“”„‟″«»", r):
		return `"`
	case unicode.Is(unicode.Pd, r) || r == '−':
		return "-"
	default:
		return norm.NFKD.String(string(r))
	}
}
