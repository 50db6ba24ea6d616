package simulated

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wide reports whether a character is a word of its own: Chinese, Japanese, Korean.
func wide(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// letter reports whether a character belongs to a word.
func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// countWords counts runs of letters, and each wide character.
func countWords(text string) int {
	n := 0
	for range ends(text) {
		n++
	}
	return n
}

// ends gives the place after each word of a text, in bytes.
func ends(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		inside := false
		for i, r := range text {
			within := letter(r) && !wide(r) || inside && (r == '\'' || r == '’' || r == '-')
			if inside && !within && !yield(i) {
				return
			}
			if wide(r) && !yield(i+utf8.RuneLen(r)) {
				return
			}
			inside = within
		}
		if inside {
			yield(len(text))
		}
	}
}

// firstWords cuts a text after so many words, and shows that it did.
func firstWords(text string, words int) string {
	n := 0
	for end := range ends(text) {
		if n++; n == words {
			if countWords(text[end:]) == 0 {
				return text
			}
			return text[:end] + "…"
		}
	}
	return text
}

// tokens estimates what a tokenizer would count: a wide character each, and four bytes of the rest.
func tokens(text string) int {
	var broad, bytes int
	for _, r := range text {
		if wide(r) {
			broad++
			continue
		}
		bytes += len(string(r))
	}
	return broad + (bytes+3)/4
}

// firstTokens is the beginning of a text that has no more than n tokens.
func firstTokens(text string, n int) string {
	low, high := 0, len([]rune(text))
	runes := []rune(text)
	for low < high {
		middle := (low + high + 1) / 2
		if tokens(string(runes[:middle])) <= n {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return strings.TrimSpace(string(runes[:low]))
}

// terms are what a text speaks of: its words without the small ones, in lower case, and the pairs of
// neighbouring wide characters.
func terms(text string) []string {
	var list []string
	word := make([]rune, 0, 32)
	end := func() {
		if w := string(word); len(word) > 2 && !small[w] {
			list = append(list, stem(w))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range text {
		switch {
		case wide(r):
			end()
			if before != 0 && !function[before] && !function[r] {
				list = append(list, string([]rune{before, r}))
			}
			before = r
			continue
		case letter(r):
			word = append(word, unicode.ToLower(r))
		default:
			end()
		}
		before = 0
	}
	end()
	return list
}

// stem lets a noun and its plural be one term.
func stem(word string) string {
	if len(word) > 4 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		return word[:len(word)-1]
	}
	return word
}

// small are English words that say nothing of what a text is about.
var small = set(strings.Fields(`the and for are was were with that this from have has had not but they their them its his her
	our your you who which what when where while will would can could should may might must shall been being also more most
	than then there these those such into onto over under about after before between through during each other some any all
	only very just how why does did doing done one two she him out off per via both few own same here too upon within without`)...)

// function are Chinese characters of grammar.
var function = set([]rune("的了是在和与及或而也都就还又被把对于为以从到之其这那此有不个们着过地得等很更最")...)

func set[T comparable](members ...T) map[T]bool {
	m := make(map[T]bool, len(members))
	for _, member := range members {
		m[member] = true
	}
	return m
}
