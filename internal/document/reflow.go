package document

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mendHyphens joins words hyphenated at the end of a line, which the engine marks with U+0002.
func mendHyphens(text string) string {
	const mark = '\x02'
	if !strings.ContainsRune(text, mark) {
		return text
	}
	var b strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		if r != mark {
			b.WriteRune(r)
			continue
		}
		within := i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i-1]) && unicode.IsLower(runes[i+1])
		if !within {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// reflow joins the lines of a paragraph, so that sentences can be recognized. A line is continued if it is about as
// long as the page is wide and ends in mid-sentence.
func reflow(page string) string {
	lines := strings.Split(page, "\n")
	wide := usualLength(lines) * 7 / 10
	var b strings.Builder
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		b.WriteString(line)
		if i+1 == len(lines) {
			break
		}
		next := strings.TrimLeft(lines[i+1], " \t")
		b.WriteString(between(line, next, utf8.RuneCountInString(line) >= wide))
	}
	return b.String()
}

// usualLength returns the median length, in characters, of the lines that are not short.
func usualLength(lines []string) int {
	const short = 15
	var lengths []int
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n >= short {
			lengths = append(lengths, n)
		}
	}
	if len(lengths) == 0 {
		return short
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2]
}

// between returns the separator of two lines: a line end, a space, or nothing in scripts without spaces.
func between(line, next string, long bool) string {
	last, _ := utf8.DecodeLastRuneInString(line)
	first, _ := utf8.DecodeRuneInString(next)
	goesOn := unicode.IsLetter(last) || strings.ContainsRune(",、，;；（(“「-–", last)
	switch {
	case !long || !goesOn || !unicode.IsLetter(first):
		return "\n"
	case ideographic(first) && (ideographic(last) || !unicode.IsLetter(last)):
		return ""
	}
	return " "
}

// ideographic reports whether a rune belongs to a script written without spaces.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}
