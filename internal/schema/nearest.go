package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
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

// nearest returns the known name with the smallest edit distance; "" if that exceeds a third of the letters.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3+1
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// distance is the edit distance of two names, with insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
