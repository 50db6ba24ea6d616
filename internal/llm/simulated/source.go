package simulated

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/clipperhouse/uax29/v2/sentences"
)

var (
	opening = regexp.MustCompile(`^\s*<(document|part)(?:\s[^>]*)?>\s*$`)
	// lengths are the ways in which a number of words is asked for, most exact first.
	lengths = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:at most|no more than|not more than|up to|within|under|about|around|in)\s+([0-9][0-9,]*)\s+words?\b`),
		regexp.MustCompile(`(?:不超过|最多|至多|控制在|大约|约)\s*([0-9]+)\s*(?:个)?(?:字|词|单词|汉字)`),
		regexp.MustCompile(`([0-9]+)\s*(?:个)?(?:字|词|单词|汉字)(?:以内|之内|左右)?`),
		regexp.MustCompile(`(?i)\b([0-9][0-9,]*)[\s-]+words?\b`),
	}
	fence = regexp.MustCompile("^\\s*(?:```|~~~)")
	mark  = regexp.MustCompile(`^\s*(?:#{1,6}\s|[-*+•]\s|\d{1,3}[.)]\s|\|)`)
)

// markups are what Markdown puts around words, and the words.
var markups = strings.NewReplacer("**", "", "__", "", "\\*", "")

var link = regexp.MustCompile(`!?\[([^\]]*)\]\([^)\s]*\)|\s*\{#[^}]*\}`)

const defaultWords = 200

// length is how many words were asked for.
func length(instructions string) int {
	for _, pattern := range lengths {
		found := pattern.FindStringSubmatch(instructions)
		if found == nil {
			continue
		}
		if n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", "")); err == nil && n > 0 {
			return n
		}
	}
	return defaultWords
}

// sources takes a user message apart: the texts between the delimiters, and what is outside them.
// Without delimiters the message is one text and nothing is outside.
func sources(user string) (texts []string, outside string) {
	var text, rest strings.Builder
	tag := ""
	for line := range strings.Lines(user) {
		switch found := opening.FindStringSubmatch(line); {
		case tag == "" && found != nil:
			tag = found[1]
		case tag == "":
			rest.WriteString(line)
		case strings.TrimSpace(line) == "</"+tag+">":
			texts, tag = append(texts, text.String()), ""
			text.Reset()
		default:
			text.WriteString(line)
		}
	}
	if tag != "" {
		texts = append(texts, text.String())
	}
	if len(texts) == 0 {
		return []string{user}, ""
	}
	return texts, rest.String()
}

// paragraphs joins the lines of a text that belong together, without the code between fences.
// Headings, list items and rows of tables are paragraphs of their own.
func paragraphs(text string) []string {
	var all []string
	current, code := "", false
	end := func() {
		if current = strings.TrimSpace(current); current != "" {
			all = append(all, current)
		}
		current = ""
	}
	for line := range strings.Lines(link.ReplaceAllString(markups.Replace(text), "$1")) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence.MatchString(line):
			code = !code
			end()
		case code:
		case trimmed == "":
			end()
		case mark.MatchString(line):
			end()
			current = trimmed
			if trimmed[0] == '#' || trimmed[0] == '|' {
				end()
			}
		default:
			current = join(current, trimmed)
		}
	}
	end()
	return all
}

// join puts a line after another: with a space, except between wide characters.
func join(before, line string) string {
	if before == "" {
		return line
	}
	last := []rune(before[max(0, len(before)-4):])
	first := []rune(line[:min(len(line), 4)])
	if broad(last[len(last)-1]) && broad(first[0]) {
		return before + line
	}
	return before + " " + line
}

// broad reports whether a character is one that no space stands beside.
func broad(r rune) bool { return wide(r) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF }

// split cuts a paragraph into sentences. An opening quotation mark at the end of one belongs to the
// next, and what ends in an abbreviation goes on.
func split(paragraph string) []string {
	var all []string
	carry := ""
	for part := range iterate(paragraph) {
		sentence := carry + part
		if abbreviated(sentence) {
			carry = sentence
			continue
		}
		trimmed := strings.TrimRight(sentence, "“‘「『《（")
		sentence, carry = trimmed, sentence[len(trimmed):]
		if sentence = strings.TrimSpace(sentence); sentence != "" {
			all = append(all, sentence)
		}
	}
	if carry = strings.TrimSpace(carry); carry != "" {
		all = append(all, carry)
	}
	return all
}

func iterate(paragraph string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for parts := sentences.FromString(paragraph); parts.Next(); {
			if !yield(parts.Value()) {
				return
			}
		}
	}
}

// abbreviated reports whether the full stop at the end is that of an abbreviation, or of a number in
// front of a list item.
func abbreviated(sentence string) bool {
	words := strings.Fields(sentence)
	if len(words) == 0 {
		return false
	}
	last := strings.TrimLeft(words[len(words)-1], `("'“`)
	if len(words) == 1 && strings.Trim(last, "0123456789.)") == "" {
		return true
	}
	return abbreviations[last] || len(last) == 2 && last[1] == '.' && last[0] >= 'A' && last[0] <= 'Z'
}

var abbreviations = set("Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "St.", "vs.", "e.g.", "i.e.", "cf.", "Fig.", "No.", "Inc.", "Ltd.", "approx.", "al.")
