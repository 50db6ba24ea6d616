package retrieval

import (
	"slices"
	"strings"
)

// heading is a heading of a Markdown text.
type heading struct {
	at    int // the byte it begins at
	level int
	title string
}

// outline takes the headings out of a text; what is between code fences has none.
func outline(text string) []heading {
	var all []heading
	at, code := 0, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			code = !code
		case !code:
			if level, title := asHeading(line); level > 0 {
				all = append(all, heading{at, level, title})
			}
		}
		at += len(line)
	}
	return all
}

// asHeading takes a heading apart; level 0 is none.
func asHeading(line string) (level int, title string) {
	marks := strings.TrimLeft(line, "#")
	level = len(line) - len(marks)
	if level == 0 || level > 6 || !strings.HasPrefix(marks, " ") {
		return 0, ""
	}
	const most = 100
	title = strings.Map(dropMarks, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(marks), "#")))
	if runes := []rune(title); len(runes) > most {
		title = string(runes[:most]) + "…"
	}
	return level, title
}

// dropMarks takes away what Markdown puts around words.
func dropMarks(r rune) rune {
	if strings.ContainsRune("*_`\\", r) {
		return -1
	}
	return r
}

// section is the path of headings above a place in the text: "Part I › Tides"; "" above the first.
func section(headings []heading, at int) string {
	last, _ := slices.BinarySearchFunc(headings, at+1, func(h heading, at int) int { return h.at - at })
	var path []string
	level := 7
	for _, h := range slices.Backward(headings[:last]) {
		if h.level < level {
			level = h.level
			if h.title != "" {
				path = append(path, h.title)
			}
		}
	}
	slices.Reverse(path)
	return strings.Join(path, " › ")
}

// body is where the text of a passage begins, behind the headings it opens with.
func body(text string, start, end int) int {
	for line := range strings.Lines(text[start:end]) {
		if level, _ := asHeading(line); level == 0 && strings.TrimSpace(line) != "" {
			break
		}
		if start+len(line) >= end {
			break
		}
		start += len(line)
	}
	return start
}
