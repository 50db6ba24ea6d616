package retrieval

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// terms tells the terms of a text, in order: words in lower case, and of scripts without spaces every character and
// every pair of neighbours.
func terms(text string, tell func(string)) {
	word := make([]rune, 0, 32)
	end := func() {
		if len(word) > 0 {
			tell(stem(string(word)))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range norm.NFKC.String(text) {
		switch {
		case wide(r):
			end()
			tell(string(r))
			if before != 0 {
				tell(string([]rune{before, r}))
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

// stem lets an English noun and its plural be one term.
func stem(word string) string {
	if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		return word[:len(word)-1]
	}
	return word
}

// wide tells the scripts in which spaces do not part words, or do not part enough of them.
func wide(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
