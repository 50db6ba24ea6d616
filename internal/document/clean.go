package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean brings a text into the form that Text promises: valid UTF-8, lines that end in "\n", no control characters, at
// most one blank line in a row.
func clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	ends := 2 // line ends in a row; starts at 2 so that leading blank lines are dropped
	var spaces []byte
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\r' && strings.HasPrefix(text[i+n:], "\n"):
		case lineEnd(r):
			spaces = spaces[:0]
			if ends < 2 {
				b.WriteByte('\n')
			}
			ends++
		case r == ' ' || r == '\t':
			spaces = append(spaces, byte(r))
		case !dropped(r):
			b.Write(spaces)
			spaces, ends = spaces[:0], 0
			b.WriteRune(r)
		}
		i += n
	}
	return strings.TrimRight(b.String(), "\n")
}

func lineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\f', '\v', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// dropped reports whether r is a control character, a byte order mark or a noncharacter.
func dropped(r rune) bool {
	return unicode.IsControl(r) || r == 0xFEFF || r&0xFFFE == 0xFFFE || (r >= 0xFDD0 && r <= 0xFDEF)
}

// blank reports whether a text has no visible character.
func blank(text string) bool {
	return strings.IndexFunc(text, visible) < 0
}

func visible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !unicode.IsControl(r)
}

// garbledShare returns the share of visible characters without a meaning: control, private-use and replacement
// characters.
func garbledShare(text string) float64 {
	var seen, bad int
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
		case unicode.IsControl(r), unicode.Is(unicode.Co, r), r == utf8.RuneError, r&0xFFFE == 0xFFFE:
			bad++
			seen++
		default:
			seen++
		}
	}
	if seen == 0 {
		return 0
	}
	return float64(bad) / float64(seen)
}
