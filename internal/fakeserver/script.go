package fakeserver

import "strings"

// Scripts choose what happens by a marker in a prompt. The lock of the server's journal guards them.
type Scripts[S any] []*script[S]

type script[S any] struct {
	marker string
	script S
	used   int
}

// Set sets the script of a marker. One that is set again counts its uses from 1 anew, and keeps its place.
func (all *Scripts[S]) Set(marker string, s S) {
	for _, known := range *all {
		if known.marker == marker {
			known.script, known.used = s, 0
			return
		}
	}
	*all = append(*all, &script[S]{marker: marker, script: s})
}

// Match returns the first script whose marker is in a prompt, with how many times it was matched. Without one, nth is 0.
func (all Scripts[S]) Match(prompt string) (found S, marker string, nth int) {
	for _, s := range all {
		if strings.Contains(prompt, s.marker) {
			s.used++
			return s.script, s.marker, s.used
		}
	}
	return found, "", 0
}

// Restart counts the uses of all scripts from 1 anew.
func (all Scripts[S]) Restart() {
	for _, s := range all {
		s.used = 0
	}
}

// Nth returns the nth reply, from 1, and the last one from there on; the zero value if there are none.
func Nth[R any](replies []R, nth int) R {
	if len(replies) == 0 {
		var none R
		return none
	}
	return replies[min(nth, len(replies))-1]
}
