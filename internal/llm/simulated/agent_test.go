package simulated_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/openai"
	"longhaul/internal/llm/simulated"
)

func offer(name, parameters string) llm.Tool {
	return llm.Tool{Name: name, Description: "x", Parameters: json.RawMessage(parameters)}
}

// work plays an agent: it goes on until there is an answer, and gives that and the names of the calls of
// each turn.
func work(t *testing.T, client *openai.Client, req llm.Request, results map[string]string) (llm.Response, [][]string) {
	t.Helper()
	var turns [][]string
	ids := map[string]bool{}
	for range 12 {
		got, err := client.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		require.True(t, got.Simulated)
		if len(got.ToolCalls) == 0 {
			return got, turns
		}
		req.Messages = append(req.Messages, llm.Message{Role: "assistant", Content: got.Text, ToolCalls: got.ToolCalls})
		var names []string
		for _, c := range got.ToolCalls {
			require.Empty(t, c.Fault)
			require.False(t, ids[c.ID], c.ID)
			ids[c.ID] = true
			names = append(names, fmt.Sprintf("%s %s", c.Name, c.Arguments))
			req.Messages = append(req.Messages, llm.Message{Role: "tool", ToolCallID: c.ID, Content: results[c.Name]})
		}
		turns = append(turns, names)
	}
	require.Fail(t, "no answer after 12 turns")
	return llm.Response{}, nil
}

// TestAgent uses every tool that it can, in an order that is always the same, and reports.
func TestAgent(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Config{BaseURL: start(t)})
	require.NoError(t, err)
	req := llm.Request{
		Model:    "any",
		Messages: []llm.Message{{Role: "system", Content: "Use the tools."}, {Role: "user", Content: "Find out when the lighthouse was built, and of what."}},
		Tools: []llm.Tool{
			offer("fetch", `{"type":"object","properties":{"url":{"type":"string","format":"uri"}},"required":["url"],"additionalProperties":false}`),
			offer("search", `{"type":"object","properties":{"query":{"type":"string","maxLength":30},"count":{"type":"integer","minimum":3},"mode":{"enum":["deep","flat"]},"note":{"type":"string"}},"required":["query","count","mode"]}`),
			offer("now", ""),
			offer("impossible", `{"type":"object","properties":{"code":{"type":"string","pattern":"^Q[0-9]{9}$"}},"required":["code"]}`),
		},
	}
	results := map[string]string{
		"search": `{"hits":[{"title":"Lighthouse","url":"https://example.com/lighthouse","text":"` + text + `"}]}`,
		"fetch":  "Granite came from a quarry nearby. It took four years to build.",
		"now":    `{"time":"noon"}`,
	}
	got, turns := work(t, client, req, results)
	require.Equal(t, [][]string{
		{`search {"count":3,"mode":"deep","query":"Find lighthouse built"}`, `now {}`},
		{`fetch {"url":"https://example.com/lighthouse"}`},
	}, turns)
	require.Equal(t, `# Find out when the lighthouse was built, and of what.

## From search

The lighthouse was built in 1871. Its walls are of granite. Storms break over it in winter.

## From now

time: noon

## From fetch

Granite came from a quarry nearby. It took four years to build.

*This report is simulated: extracts of what the tools gave, put together without a model.*`, got.Text)
	require.True(t, got.Usage.Known)

	again, turnsAgain := work(t, client, req, results)
	require.Equal(t, got.Text, again.Text)
	require.Equal(t, turns, turnsAgain)

	req.Schema = &llm.Schema{Name: "finding", JSON: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"},"sure":{"type":"boolean"}},"required":["summary","sure"],"additionalProperties":false}`)}
	formed, _ := work(t, client, req, results)
	require.JSONEq(t, `{"summary":"The lighthouse was built in 1871. Its walls are of granite. Granite came from a quarry nearby. It took four years to build.","sure":false}`, formed.Text)
}

// TestAgentEnds after six turns, however many tools there are.
func TestAgentEnds(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Config{BaseURL: start(t)})
	require.NoError(t, err)
	req := llm.Request{Model: "any", Messages: []llm.Message{{Role: "user", Content: "Go."}}}
	for i := range 20 {
		req.Tools = append(req.Tools, offer(fmt.Sprintf("tool_%d", i), ""))
	}
	_, turns := work(t, client, req, nil)
	require.Len(t, turns, 6)
	require.Len(t, turns[0], 2)
	require.Len(t, turns[5], 1)
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Config{BaseURL: start(t)})
	require.NoError(t, err)
	before := []llm.Message{
		{Role: "user", Content: "Go."},
		{Role: "assistant", ToolCalls: []llm.ToolCall{{ID: "a", Name: "one"}, {ID: "b", Name: "two"}}},
		{Role: "tool", ToolCallID: "a", Content: "x"},
		{Role: "tool", ToolCallID: "b", Content: "y"},
	}
	for choice, want := range map[string]string{"": "", "none": "", "required": "one", "two": "two"} {
		req := llm.Request{Model: "any", Messages: before, Tools: []llm.Tool{offer("one", ""), offer("two", "")}, ToolChoice: choice}
		got, err := client.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, got.ToolCalls, choice)
			require.Contains(t, got.Text, "simulated")
		} else {
			require.Len(t, got.ToolCalls, 1, choice)
			require.Equal(t, want, got.ToolCalls[0].Name)
		}
	}
}

// TestForms are answered with JSON that is valid, which the client sees to.
func TestForms(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Config{BaseURL: start(t)})
	require.NoError(t, err)
	tests := map[string]struct{ schema, want string }{
		"nothing asked":                     {`{"type":"object"}`, `{}`},
		"optional":                          {`{"type":"object","properties":{"topic":{"type":"string"}}}`, `{"topic":"lighthouse built 1871 walls granite Storms break winter"}`},
		"numbers":                           {`{"type":"object","properties":{"a":{"type":"integer","minimum":5},"b":{"type":"number","maximum":0.5},"c":{"type":"integer","multipleOf":4},"d":{"type":"integer","exclusiveMinimum":2}}}`, `{"a":5,"b":0.5,"c":4,"d":3}`},
		"lists":                             {`{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x","y"]},"minItems":2},"b":{"type":"array","maxItems":0}}}`, `{"a":["x","x"],"b":[]}`},
		"lengths":                           {`{"type":"object","properties":{"a":{"type":"string","maxLength":10},"b":{"type":"string","minLength":80,"maxLength":80}}}`, `{"a":"lighthouse","b":"lighthouse built 1871 walls granite Storms break winter lighthouse built 1871 wa"}`},
		"references":                        {`{"type":"object","properties":{"a":{"$ref":"#/$defs/p"},"b":{"anyOf":[{"type":"null"},{"type":"string"}]},"c":{"type":["integer","null"]}},"$defs":{"p":{"type":"object","properties":{"x":{"const":7},"y":{"default":"z"}}}}}`, `{"a":{"x":7,"y":"z"},"b":null,"c":1}`},
		"one that is in itself":             {`{"type":"object","properties":{"n":{"$ref":"#"}}}`, `{"n":{"n":{"n":{"n":{}}}}}`},
		"formats":                           {`{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"email"}}}`, `{"a":"2026-01-01T12:00:00Z","b":"nobody@example.com"}`},
		"what is not to be had is left out": {`{"type":"object","properties":{"a":{"type":"string","pattern":"^Q$"},"b":{"type":"string"}},"required":["b"]}`, `{"b":"lighthouse built 1871 walls granite Storms break winter"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := llm.Request{Model: "any", Messages: []llm.Message{{Role: "user", Content: text}}, Schema: &llm.Schema{JSON: json.RawMessage(test.schema)}}
			got, err := client.Complete(t.Context(), req, nil)
			require.NoError(t, err)
			require.JSONEq(t, test.want, got.Text)
			require.Equal(t, simulated.Model, got.Model)
		})
	}
}
