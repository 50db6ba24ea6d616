package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

func (m *cancelCase) mark() string { return fmt.Sprintf("[k-%03d]", m.n) }

// input returns a kind and an input that keep the task busy for longer than the cancel waits.
func (m *cancelCase) input() (kind string, input any) {
	rows := func(n int) (all []any) {
		for i := range n {
			all = append(all, map[string]any{"text": fmt.Sprintf("%s row %d", m.mark(), i)})
		}
		return all
	}
	kinds := []string{"summary", "generate", "agent", "classify", "embed", "qa", "video"}
	switch kind = kinds[m.n%len(kinds)]; kind {
	case "summary":
		in := notes(60)
		for i := range in.Documents {
			in.Documents[i].Text = m.mark() + in.Documents[i].Text
		}
		return kind, in
	case "generate":
		return kind, map[string]any{"rows": rows(150), "template": "About {{text}}"}
	case "classify":
		return kind, map[string]any{"rows": rows(300), "labels": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}, "pack": 4}
	case "embed":
		return kind, map[string]any{"rows": rows(2000)}
	case "qa":
		in := task.QAInput{Documents: []task.Document{{Text: strings.ReplaceAll(story(6000), "On day", m.mark()+" On day")}}}
		for i := range 60 {
			in.Questions = append(in.Questions, fmt.Sprintf("%s Who lit the lamp on day %d?", m.mark(), 22*i))
		}
		return kind, in
	case "video":
		in := task.VideoInput{Seconds: 5}
		for i := range 12 {
			in.Prompts = append(in.Prompts, fmt.Sprintf("%s wave %d", m.mark(), i))
		}
		return kind, in
	default:
		return kind, task.AgentInput{Goal: "go on with " + m.mark(), Tools: []task.ToolSpec{{Builtin: "calculator"}}, MaxSteps: 500, MaxToolCalls: 1000}
	}
}

// fixedUsage answers any call correctly and reports callTokens as its usage.
func fixedUsage(call llmtest.Call) llmtest.Reply {
	used := llmtest.Usage{Input: callTokens - 10, Output: 10}
	switch {
	case call.Inputs != nil:
		items := make([]string, len(call.Inputs))
		for i, text := range call.Inputs {
			items[i] = llmtest.Item(i, llmtest.Base64(llmtest.Vector(text, 8)))
		}
		return llmtest.Embeddings(callTokens, items...)
	case len(call.Tools) > 0:
		return llmtest.ToolCalls(used, llmtest.ToolCall{
			Name: "calculator", Arguments: fmt.Sprintf(`{"expression":"1+%d"}`, strings.Count(string(call.Body), `"role":"assistant"`)),
		})
	case strings.Contains(call.Prompt, "<text name="):
		return llmtest.Answer(labelEach(call), used)
	case llmtest.Asked(call.Prompt) != "":
		answer, err := json.Marshal(llmtest.Cite(call.Prompt, "keeper"))
		if err != nil {
			panic(err) // strings and numbers always marshal
		}
		return llmtest.Answer(string(answer), used)
	default:
		return llmtest.Answer("All was well: "+call.Hash, used)
	}
}

// labelEach answers a classify call with the label a for every text.
func labelEach(call llmtest.Call) string {
	lines := make([]string, strings.Count(call.Prompt, "<text name="))
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"number":%d,"labels":["a"],"confidence":0.9}`, i+1)
	}
	return `{"results":[` + strings.Join(lines, ",") + `]}`
}
