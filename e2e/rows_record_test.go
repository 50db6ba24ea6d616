package e2e

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
)

func recordRows(s *stack) string { return s.finish(s.begin("generate", s.generate(200), nil)).ID }

func recordBadRows(s *stack) string {
	s.provider.On("row 000001.", llmtest.RateLimit(40), llmtest.Reply{}) // longer than a shard waits
	return s.finish(s.begin("generate", map[string]any{"rows": []any{map[string]any{"name": "row 000001."}, 7, map[string]any{"nmae": "x"}}, "template": "About {{name}}"}, nil)).ID
}

func recordCancelledRows(s *stack) string {
	s.provider.On("row 000001.", llmtest.Reply{End: llmtest.Silence})
	id := s.begin("generate", s.generate(20), nil)
	require.NoError(s.t, s.provider.WaitFor(s.soon(), 20))
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(s.t, err)
	return s.finish(id).ID
}

func recordManyRows(s *stack) string { return s.finish(s.begin("generate", s.generate(2000), nil)).ID }

func recordPackedRows(s *stack) string {
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		var lines []string
		for i := range strings.Count(c.Prompt, "<text name=") {
			lines = append(lines, fmt.Sprintf(`{"number":%d,"labels":["a"],"confidence":0.9}`, i+1))
		}
		return llmtest.Answer(`{"results":[`+strings.Join(lines, ",")+`]}`, llmtest.Usage{Input: 100, Output: 10})
	})
	return s.finish(s.begin("classify", map[string]any{"rows": []any{"one", "two", "three"}, "labels": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}}, nil)).ID
}

func recordVectors(s *stack) string {
	return s.finish(s.begin("embed", map[string]any{"rows": []any{"one", "two", "three"}, "output": "npy"}, nil)).ID
}
