package workflowtest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record/recordtest"
)

// Prompt is a prompt template of a kind: a text that only its prompts hold, and its version, which is raised with every
// change of the prompt.
type Prompt struct {
	Holds   string
	Version int
}

// RequirePrompts compares the prompts that a run sends with golden files. Answer answers the calls, run runs the tasks.
// Every prompt of the run must belong to a template, and every template must be sent.
func (b *Bench) RequirePrompts(templates map[string]Prompt, answer func(llmtest.Call) llmtest.Reply, run func()) {
	b.T.Helper()
	var mu sync.Mutex
	sent := map[string][]string{}
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if c.Inputs == nil {
			text := messages(c.Body)
			mu.Lock()
			name := templateOf(templates, text)
			sent[name] = append(sent[name], text)
			mu.Unlock()
		}
		return answer(c)
	})
	run()
	require.Empty(b.T, sent[""], "these prompts belong to no template of the test")
	for name, template := range templates {
		require.NotEmpty(b.T, sent[name], "the prompt %s was not sent", name)
		recordtest.Prompt(b.T, name, template.Version, slices.Min(sent[name])) // calls run side by side: the first by its text
	}
}

// templateOf names the template of a prompt: the one with the longest text that the prompt holds; "" for none.
func templateOf(templates map[string]Prompt, text string) (name string) {
	longest := 0
	for candidate, t := range templates {
		if len(t.Holds) > longest && strings.Contains(text, t.Holds) {
			name, longest = candidate, len(t.Holds)
		}
	}
	return name
}

// messages are the messages of a request, and the schema of its answer.
func messages(body []byte) string {
	var request struct {
		Messages []struct {
			Role    string
			Content string
		}
		ResponseFormat json.RawMessage `json:"response_format"`
	}
	if json.Unmarshal(body, &request) != nil {
		return string(body)
	}
	var b strings.Builder
	for _, m := range request.Messages {
		b.WriteString("--- " + m.Role + "\n" + m.Content + "\n")
	}
	if len(request.ResponseFormat) > 0 {
		b.WriteString("--- response_format\n" + string(request.ResponseFormat) + "\n")
	}
	return b.String()
}
