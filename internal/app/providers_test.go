package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/config"
	"longhaul/internal/record"
)

// Whether a budget can be kept is a matter of the model that a kind asks when a task names none.
func TestPriced(t *testing.T) {
	t.Parallel()
	llm := config.LLM{Model: "talks", EmbeddingModel: "vectors", Models: []config.Model{{Name: "talks", Price: &config.Price{Input: 1, Output: 1}}}}
	a := &App{Config: config.Config{LLM: llm}}
	table, err := a.router()
	require.NoError(t, err)
	priced := a.priced(table)
	require.True(t, priced("summary", ""))
	require.False(t, priced("summary", "vectors"))
	require.False(t, priced(record.KindEmbed, ""))
	require.True(t, priced(record.KindEmbed, "talks"))
	require.False(t, priced(record.KindVideo, "talks"))
}
