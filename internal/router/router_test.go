package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/router"
	"longhaul/internal/task"
)

func table(t *testing.T) *router.Router {
	t.Helper()
	r, err := router.New("small",
		&router.Provider{Name: "first", Models: []router.Model{
			{Name: "small", As: "small-2026", Price: &router.Price{Input: 1, Cached: 0.1, Output: 4, Currency: "USD"}, Fallbacks: []string{"large", "relay/other"}},
			{Name: "shared"},
		}},
		&router.Provider{Name: "second", Models: []router.Model{{Name: "large"}, {Name: "shared", As: "shared-eu"}}},
		&router.Provider{Name: "relay"},
	)
	require.NoError(t, err)
	return r
}

func TestTargets(t *testing.T) {
	t.Parallel()
	r := table(t)
	for asked, want := range map[string][]string{
		"":               {"first/small-2026", "second/large", "relay/other"}, // the standard model
		"small":          {"first/small-2026", "second/large", "relay/other"},
		"large":          {"second/large"},
		"shared":         {"first/shared", "second/shared-eu"}, // each is a fallback of the other
		"relay/any/name": {"relay/any/name"},                   // the named provider
		"second/shared":  {"second/shared-eu"},                 // by its listed name
		"unlisted":       {"first/unlisted"},                   // unlisted names go to the first provider
		"unknown/model":  {"first/unknown/model"},              // names with a slash may be model names
		"relay/":         {"first/relay/"},                     // no model after the slash
	} {
		var got []string
		for _, target := range r.Targets(asked) {
			got = append(got, target.String())
		}
		require.Equal(t, want, got, asked)
	}
	require.Equal(t, "small", r.Model(""))
	require.Len(t, r.Same("small"), 1, "a fallback is another model")
	require.Equal(t, "x", r.Model("x"))
}

func TestNew_unknownFallback(t *testing.T) {
	t.Parallel()
	_, err := router.New("a", &router.Provider{Name: "p", Models: []router.Model{{Name: "a", Fallbacks: []string{"b"}}}})
	require.ErrorContains(t, err, `model a of provider p has the fallback "b"`)
}

func TestRest(t *testing.T) {
	t.Parallel()
	p := &router.Provider{Name: "p"}
	require.False(t, p.Rests())
	p.Rest()
	require.True(t, p.Rests())
}

func TestCost(t *testing.T) {
	t.Parallel()
	price := &router.Price{Input: 1, Cached: 0.1, Output: 4, Currency: "USD"}
	usage := llm.Usage{Known: true, InputTokens: 1000, CachedTokens: 400, OutputTokens: 50}
	require.Equal(t, &task.Cost{Amount: 0.00084, Currency: "USD"}, price.Cost(usage))
	require.Nil(t, price.Cost(llm.Usage{}), "unknown usage has no cost")
	require.Nil(t, (*router.Price)(nil).Cost(usage), "unknown price")

	sum := task.Usage{}
	for range 10 {
		sum = sum.Add(task.Usage{Cost: &task.Cost{Amount: 0.1, Currency: "USD"}})
	}
	require.Equal(t, 1.0, sum.Cost.Amount, "a sum is exact") //nolint:testifylint // the sum must be exact
}
