package retrieval

import (
	"slices"
	"strings"
)

// heading is a heading in a Markdown text.
type heading struct {
	at    int // byte offset
	level int
	title string
}

// outline returns the headings of a text, ignoring fenced code.
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

// asHeading parses a heading; level 0 means that the line is not a heading.
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

// dropMarks removes Markdown emphasis characters.
func dropMarks(r rune) rune {
	if strings.ContainsRune("*_`\\", r) {
		return -1
	}
	return r
}

// section returns the path of headings that enclose a position: "Part I › Tides"; "" before the first heading.
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

// body returns where the text of a passage starts, after its leading headings.
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
