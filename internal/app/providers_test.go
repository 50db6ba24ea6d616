package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/config"
	"longhaul/internal/record"
)

// Without a model in the task, the price of the kind's default model counts.
func TestPriced(t *testing.T) {
	t.Parallel()
	llm := config.LLM{Model: "talks", EmbeddingModel: "vectors", Models: []config.Model{{Name: "talks", Price: &config.Price{Input: 1, Output: 1}}}}
	a := &App{Config: config.Config{LLM: llm}}
	models, err := a.router()
	require.NoError(t, err)
	priced := a.priced(models)
	require.True(t, priced("summary", ""))
	require.False(t, priced("summary", "vectors"))
	require.False(t, priced(record.KindEmbed, ""))
	require.True(t, priced(record.KindEmbed, "talks"))
	require.False(t, priced(record.KindVideo, "talks"))
}
