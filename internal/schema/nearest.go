package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hbollon/go-edlib"
)

// Unknown says that a name is not known, and names the nearest known one, or all of them when none
// is near and they are few.
func Unknown(what, name string, known []string) string {
	const few = 12
	name = clip(name)
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %q; did you mean %q?", what, name, near)
	}
	if len(known) == 0 || len(known) > few {
		return fmt.Sprintf("unknown %s %q", what, name)
	}
	return fmt.Sprintf("unknown %s %q; known: %s", what, name, strings.Join(known, ", "))
}

// clip keeps a sentence readable whatever name a body has.
func clip(name string) string {
	const most = 64
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}

// nearest returns the known name with the smallest edit distance from name; "" when more than a third of its letters differ.
func nearest(name string, known []string) string {
	best, least := "", utf8.RuneCountInString(name)/3+1
	for _, k := range known {
		d := edlib.OSADamerauLevenshteinDistance(strings.ToLower(name), strings.ToLower(k))
		if d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}
