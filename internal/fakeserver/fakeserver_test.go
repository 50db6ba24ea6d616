package fakeserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	var all Scripts[[]string]
	all.Set("[a]", []string{"first", "later"})
	all.Set("[b]", nil)
	next := func(prompt string) string {
		replies, marker, nth := all.Match(prompt)
		require.Equal(t, nth > 0, marker != "")
		return Nth(replies, nth)
	}
	require.Equal(t, []string{"first", "later", "later"}, []string{next("x [b] [a]"), next("[a]"), next("[a]")})
	require.Equal(t, []string{"", ""}, []string{next("[b]"), next("[c]")})
	all.Restart()
	require.Equal(t, "first", next("[a]"))
	all.Set("[a]", []string{"other"})
	require.Equal(t, []string{"other", "other"}, []string{next("[a]"), next("[a] [b]")})
}
