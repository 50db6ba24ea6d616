package retrieval

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// terms calls add for each term of a text, in order: lower-case words; in scripts without spaces, each character and
// each pair of neighbours.
func terms(text string, add func(string)) {
	word := make([]rune, 0, 32)
	end := func() {
		if len(word) > 0 {
			add(stem(string(word)))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range norm.NFKC.String(text) {
		switch {
		case wide(r):
			end()
			add(string(r))
			if before != 0 {
				add(string([]rune{before, r}))
			}
			before = r
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			word = append(word, unicode.ToLower(r))
		default:
			end()
		}
		before = 0
	}
	end()
}

// stem maps an English plural to its singular.
func stem(word string) string {
	if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		return word[:len(word)-1]
	}
	return word
}

// wide reports whether a script is written without spaces between words, or with too few.
func wide(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
