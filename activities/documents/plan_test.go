package documents

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

func TestShare(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		weights []int
		groups  []int // documents of each
	}{
		"one":                    {[]int{1}, []int{1}},
		"small ones together":    {ones(250), []int{100, 100, 50}},
		"large ones apart":       {[]int{300, 300, 1}, []int{1, 2}},
		"one over all limits":    {[]int{1, 401, 1}, []int{1, 1, 1}},
		"filled to the very end": {[]int{200, 200, 200}, []int{2, 1}},
	}
	for name, test := range tests {
		docs := make([]task.Document, len(test.weights))
		docs[0].URL = "https://example.com"
		groups := share(docs, test.weights)
		var sizes, all []int
		next := 0
		for _, g := range groups {
			require.Equal(t, next, g.From, name)
			next += len(g.Weights)
			sizes, all = append(sizes, len(g.Weights)), append(all, g.Weights...)
		}
		require.Equal(t, test.groups, sizes, name)
		require.Equal(t, test.weights, all, name)
		require.Equal(t, []int{0}, groups[0].URLs, name)
	}
}

func ones(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = 1
	}
	return all
}
