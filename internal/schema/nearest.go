package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hbollon/go-edlib"
)

// Unknown reports an unknown name, with the nearest known name, or with all known names if none is near and they are
// few.
func Unknown(noun, name string, known []string) string {
	const few = 12
	name = clip(name)
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %q; did you mean %q?", noun, name, near)
	}
	if len(known) == 0 || len(known) > few {
		return fmt.Sprintf("unknown %s %q", noun, name)
	}
	return fmt.Sprintf("unknown %s %q; known: %s", noun, name, strings.Join(known, ", "))
}

// clip shortens a long name for an error text.
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
