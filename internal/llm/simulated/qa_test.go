package simulated_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/openai"
)

// A question is answered with sentences that stand in the sources, and with nothing else.
func TestQuestions(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Config{BaseURL: start(t)})
	require.NoError(t, err)
	source := func(name, text string) string { return "<source name=\"" + name + "\">\n" + text + "\n</source>\n" }
	english := source("3: a.pdf, page 1", "# Harbour\n\nThe harbour was rebuilt in 1911.\nIt is deeper now.\n\nLarger ships call.") + source("8: b", "A bridge is old.")
	findings := `<finding name="1">` + "\n" + `{"answer":"x","citations":[{"source":4,"quote":"The harbour is deep."}]}` + "\n</finding>\n" +
		`<finding name="2">` + "\n" + `{"answer":"y","citations":[{"source":5,"quote":"A bridge."}]}` + "\n</finding>\n"
	type citation struct {
		Source int
		Quote  string
	}
	tests := map[string]struct {
		orders, material, question string
		want                       []citation
		everything                 bool
	}{
		"answered":         {"", english, "When was the harbour rebuilt?", []citation{{3, "The harbour was rebuilt in 1911."}}, false},
		"Chinese":          {"", source("1: 茶", "# 制茶\n\n鲜叶要炒。茶田在山上。"), "茶田在哪里？", []citation{{1, "茶田在山上。"}}, false},
		"not told":         {"", english, "Who wrote Faust?", []citation{}, false},
		"takes everything": {"needs_everything: true if …", english, "How many harbours are there?", []citation{}, true},
		"has everything":   {"needs_everything: false.", english, "How many ships call?", []citation{{3, "Larger ships call."}}, false},
		"findings":         {"needs_everything: false.", findings, "Summarise the harbour", []citation{{4, "The harbour is deep."}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := client.Complete(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{
				{Role: "system", Content: test.orders},
				{Role: "user", Content: test.material + "<question name=\"to answer now\">\n" + test.question + "\n</question>"},
			}, Schema: &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object","required":["citations","answer","supported","needs_everything"]}`)}}, nil)
			require.NoError(t, err)
			var answer struct {
				Citations       []citation
				Answer          string
				Supported       bool
				NeedsEverything bool `json:"needs_everything"`
			}
			require.NoError(t, json.Unmarshal([]byte(got.Text), &answer))
			require.Equal(t, test.want, answer.Citations)
			require.Equal(t, len(test.want) > 0, answer.Supported)
			require.Equal(t, test.everything, answer.NeedsEverything)
			for _, c := range answer.Citations {
				require.True(t, strings.Contains(test.material, c.Quote))
				require.Contains(t, answer.Answer, c.Quote)
			}
		})
	}
}
