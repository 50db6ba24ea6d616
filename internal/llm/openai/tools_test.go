package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/task"
)

// askTools offers a tool with arguments and one without.
func askTools() llm.Request {
	req := ask("How is the weather?")
	req.Tools = []llm.Tool{
		{Name: "weather", Description: "The weather of a city.", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"],"additionalProperties":false}`)},
		{Name: "now"},
	}
	return req
}

// robustTool is an answer to a request with tools.
type robustTool struct {
	robust
	change func(*llm.Request) // nil is askTools as it is
	calls  []llm.ToolCall
}

const oslo = `{"city":"Oslo"}`

// call is one that can be used, unless there is a fault.
func call(id, name, arguments string, fault ...string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments), Fault: strings.Join(fault, "")}
}

// called is a good answer with these calls and no text.
func called(reply llmtest.Reply, calls ...llm.ToolCall) robustTool {
	return robustTool{robust: robust{reply: reply, ok: &answered{"", "stop", counts}}, calls: calls}
}

// deltas is a stream whose chunks have these tool_calls.
func deltas(finish string, lists ...string) llmtest.Reply {
	events := []string{llmtest.Delta("", "")}
	for _, list := range lists {
		events = append(events, llmtest.Choice(`{"tool_calls":`+list+`}`, ""))
	}
	return stream(append(events, llmtest.Delta("", finish), used, "[DONE]")...)
}

// said is a single call of weather whose arguments are this JSON value.
func said(arguments string) llmtest.Reply {
	return deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":`+arguments+`}}]`)
}

func bad(reply llmtest.Reply, class llm.Class, code task.Code, message string) robustTool {
	return robustTool{robust: robust{reply: reply, err: &refused{class: class, code: code, message: message, partial: counts}}}
}

func robustTools() map[string]robustTool {
	one, two, now := call("a", "weather", oslo), call("b", "weather", `{"city":"Rome"}`), call("b", "now", "{}")
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf(`{"index":%d,"function":{"name":"now"}}`, i)
	}
	cases := map[string]robustTool{
		"several calls, as OpenAI has them": called(llmtest.ToolCalls(llmtest.Usage{Input: 7, Output: 3, Cached: 2},
			llmtest.ToolCall{Name: "weather", Arguments: `{"city": "Oslo", "days": 2}`}, llmtest.ToolCall{Name: "now"}),
			call("call_1", "weather", `{"city":"Oslo","days":2}`), call("call_2", "now", "{}")),
		"two calls interleaved": called(deltas("tool_calls",
			`[{"index":0,"id":"a","function":{"name":"weather","arguments":""}}]`, `[{"index":1,"id":"b","function":{"name":"weather","arguments":"{\"ci"}}]`,
			`[{"index":0,"function":{"arguments":"{\"city\":"}}]`, `[{"index":1,"function":{"arguments":"ty\":\"Rome\"}"}},{"index":0,"function":{"arguments":"\"Oslo\"}"}}]`), one, two),
		"no index, whole calls":            called(deltas("stop", `[{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]`, `[{"id":"b","function":{"name":"now","arguments":"{}"}}]`), one, now),
		"no index, pieces with ids":        called(deltas("tool_calls", `[{"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}]`, `[{"id":"b","function":{"name":"now"}}]`, `[{"id":"a","function":{"arguments":"\"Oslo\"}"}}]`), one, now),
		"no index, pieces without ids":     called(deltas("tool_calls", `[{"id":"a","function":{"name":"weather","arguments":""}}]`, `[{"function":{"arguments":"{\"city\":"}}]`, `[{"function":{"arguments":"\"Oslo\"}"}}]`, `[{"id":"b","function":{"name":"now","arguments":"{}"}}]`), one, now),
		"no index, pieces side by side":    called(deltas("tool_calls", `[{"id":"a","function":{"name":"weather"}},{"id":"b","function":{"name":"weather"}}]`, `[{"function":{"arguments":"{\"city\":\"Oslo\"}"}},{"function":{"arguments":"{\"city\":\"Rome\"}"}}]`), one, two),
		"index only later":                 called(deltas("tool_calls", `[{"id":"a","function":{"name":"weather","arguments":""}}]`, `[{"index":0,"function":{"arguments":"{\"city\":\"Oslo\"}"}}]`), one),
		"id only later":                    called(deltas("tool_calls", `[{"index":0,"function":{"name":"weather"}}]`, `[{"id":"a","function":{"arguments":"{\"city\":\"Oslo\"}"}}]`), one),
		"index 0 of every call":            called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]`, `[{"index":0,"id":"b","function":{"name":"now","arguments":"{}"}}]`), one, now),
		"index from 1, and in quotes":      called(deltas("tool_calls", `[{"index":1,"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}]`, `[{"index":"1","function":{"arguments":"\"Oslo\"}"}}]`), one),
		"an answer that is no stream":      called(whole(`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"b","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":2}}`), one, now),
		"one call that is in no list":      called(deltas("tool_calls", `{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`), one),
		"the function_call of old, pieces": called(stream(llmtest.Choice(`{"function_call":{"name":"weather","arguments":""}}`, ""), llmtest.Choice(`{"function_call":{"arguments":"{\"city\":"}}`, ""), llmtest.Choice(`{"function_call":{"arguments":"\"Oslo\"}"}}`, ""), llmtest.Delta("", "function_call"), used), call("call_1", "weather", oslo)),
		"the function_call of old, whole":  called(whole(`{"choices":[{"message":{"role":"assistant","content":null,"function_call":{"name":"now","arguments":"{}"}},"finish_reason":"function_call"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":2}}`), call("call_1", "now", "{}")),
		"name in pieces":                   called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"wea"}}]`, `[{"index":0,"function":{"name":"ther"}}]`, `[{"index":0,"function":{"arguments":"{\"city\":\"Oslo\"}"}}]`), one),
		"name again in each delta":         called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":""}}]`, `[{"index":0,"function":{"name":"weather","arguments":"{\"city\":"}}]`, `[{"index":0,"function":{"name":"weather","arguments":"\"Oslo\"}"}}]`, `[{"index":0,"function":{"name":"weather","arguments":""}}]`), one),
		"the whole call once more":         called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}]`, `[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]`, `[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]`), one),
		"finish reason stop":               called(deltas("stop", `[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]`), one),
		"finish reason with the call":      called(stream(llmtest.Choice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, "tool_calls"), used), one),
		"finish reason tool_calls, text":   {robust: robust{reply: stream(hello, llmtest.Delta("", "tool_calls"), used), ok: &answered{"Hello", "stop", counts}}},
		"finish reason tool_calls, none":   bad(stream(llmtest.Delta("", ""), llmtest.Delta("", "tool_calls"), used), llm.Retry, task.BadResponse, "empty"),
		"empty deltas are no calls":        {robust: robust{reply: stream(hello, llmtest.Choice(`{"tool_calls":[]}`, ""), llmtest.Choice(`{"tool_calls":[{}]}`, ""), llmtest.Choice(`{"tool_calls":[{"index":0,"function":{}}],"function_call":{}}`, ""), llmtest.Choice(`{"tool_calls":"no"}`, ""), stop, used), ok: &answered{"Hello", "stop", counts}}},
		"more calls than anybody needs":    bad(deltas("tool_calls", "["+strings.Join(many, ",")+"]"), llm.Retry, task.BadResponse, "more than 256 tools"),
		"no name":                          bad(deltas("tool_calls", `[{"index":0,"id":"a","function":{"arguments":"{}"}}]`), llm.Retry, task.BadResponse, "no name"),
		"calls although no tool was offered": {
			robust: robust{reply: stream(hello, llmtest.Choice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{}"}}]}`, ""), stop, used), ok: &answered{"Hello", "stop", counts}},
			change: func(r *llm.Request) { r.Tools = nil },
		},
		"calls alone although none was to be made": {
			robust: bad(said(`"{}"`), llm.Retry, task.BadResponse, "empty").robust,
			change: func(r *llm.Request) { r.ToolChoice = "none" },
		},
		"calls although the answer has a schema": {
			robust: called(said(`"{\"city\":\"Oslo\"}"`)).robust, calls: []llm.ToolCall{one},
			change: func(r *llm.Request) { r.Schema = askPerson().Schema },
		},
		"length":                           bad(deltas("length", `[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Os"}}]`), llm.Final, task.AnswerIncomplete, "allow more tokens"),
		"length, although it looks whole":  bad(deltas("length", `[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]`), llm.Final, task.AnswerIncomplete, "allow more tokens"),
		"no finish reason":                 bad(stream(llmtest.Choice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]}`, ""), used), llm.Retry, task.AnswerIncomplete, "without a finish reason"),
		"a cut that a relay calls the end": bad(said(`"{\"city\":\"Os"`), llm.Retry, task.BadResponse, "cut or broken"),

		"id in each delta":          called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":""}}]`, `[{"index":0,"id":"a","function":{"arguments":"{\"city\":"}}]`, `[{"index":0,"id":"a","function":{"arguments":"\"Oslo\"}"}}]`), one),
		"id blank but in the first": called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":""}}]`, `[{"index":0,"id":"","function":{"name":"","arguments":"{\"city\":"}}]`, `[{"index":0,"id":null,"function":{"name":null,"arguments":"\"Oslo\"}"}}]`), one),
		"id never":                  called(deltas("tool_calls", `[{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]`, `[{"index":1,"function":{"name":"now"}}]`), call("call_1", "weather", oslo), call("call_2", "now", "{}")),
		"id never, index never":     called(deltas("tool_calls", `[{"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]`, `[{"function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]`, `[{"function":{"name":"now","arguments":""}}]`), call("call_1", "weather", oslo), call("call_2", "weather", `{"city":"Rome"}`), call("call_3", "now", "{}")),
		"id of one alone":           called(deltas("tool_calls", `[{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"index":1,"id":"call_1","function":{"name":"now"}}]`), call("call_2", "weather", oslo), call("call_1", "now", "{}")),
		"id of all the same":        called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"index":1,"id":"a","function":{"name":"now"}}]`), one, call("call_1", "now", "{}")),
		"id a number":               called(deltas("tool_calls", `[{"index":0,"id":7,"function":{"name":"now"}}]`), call("7", "now", "{}")),

		"an object":              called(said(` {"city" : "Oslo"} `), one),
		"blank":                  called(deltas("tool_calls", `[{"index":0,"id":"b","function":{"name":"now","arguments":""}}]`), now),
		"null":                   called(deltas("tool_calls", `[{"index":0,"id":"b","function":{"name":"now","arguments":null}}]`), now),
		"the word null":          called(deltas("tool_calls", `[{"index":0,"id":"b","function":{"name":"now","arguments":"null"}}]`), now),
		"a fence":                called(said(`"`+"```json\\n"+`{\"city\":\"Oslo\"}`+"\\n```"+`"`), one),
		"encoded twice":          called(said(`"\"{\\\"city\\\":\\\"Oslo\\\"}\""`), one),
		"encoded twice, and cut": bad(said(`"\"{\\\"city\\\":\\\"Os"`), llm.Retry, task.BadResponse, "cut or broken"),
		"characters cut in half": called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"\ud83d"}}]`, `[{"index":0,"function":{"arguments":"\ude80\"}"}}]`), call("a", "weather", `{"city":"🚀"}`)),
		"not JSON":               bad(said(`"city=Oslo"`), llm.Retry, task.BadResponse, "arguments of tool call weather are not JSON"),
		"two values":             bad(said(`"{}{}"`), llm.Retry, task.BadResponse, "not JSON"),
		"a list":                 called(said(`"[1]"`), call("a", "weather", "{}", "the arguments of weather must be a JSON object, not [1]")),
		"breaches of the schema": called(said(`"{\"days\":0,\"town\":\"Oslo\"}"`), call("a", "weather", `{"days":0,"town":"Oslo"}`, `the arguments of weather break its schema: /city is required; /days must be at least 1; /town unknown field "town"; known: city, days`)),
		"a field twice":          called(said(`"{\"city\":\"Oslo\",\"city\":\"Rome\"}"`), call("a", "weather", `{"city":"Oslo","city":"Rome"}`, "the arguments of weather break its schema: /city appears twice")),
		"a tool that is not there": called(deltas("tool_calls", `[{"index":0,"id":"a","function":{"name":"wether","arguments":"{\"city\":\"Oslo\"}"}},{"index":1,"id":"b","function":{"name":"now"}}]`),
			call("a", "wether", oslo, `unknown tool "wether"; did you mean "weather"?`), now),

		"content null beside calls":  called(stream(llmtest.Choice(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, "tool_calls"), used), one),
		"content blank beside calls": called(stream(llmtest.Delta("\n\n", ""), llmtest.Choice(`{"content":"","tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, "tool_calls"), used), one),
		"content a list beside calls": {
			robust: robust{reply: stream(llmtest.Choice(`{"content":[{"type":"text","text":"Hello"}],"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, "tool_calls"), used), ok: &answered{"Hello", "stop", counts}}, calls: []llm.ToolCall{one},
		},
		"think tags beside calls": {
			robust: robust{reply: stream(llmtest.Delta("<think>hm</think>", ""), llmtest.Choice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, "tool_calls"), used), ok: &answered{"<think>hm</think>", "stop", counts}}, calls: []llm.ToolCall{one},
		},
		"reasoning before calls": called(stream(llmtest.Choice(`{"reasoning_content":"hm"}`, ""), llmtest.Choice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, "tool_calls"), used), one),
	}
	return cases
}

func TestTools(t *testing.T) {
	t.Parallel()
	for name, test := range robustTools() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := askTools()
			if test.change != nil {
				test.change(&req)
			}
			got := checkRobust(t, test.robust, req)
			require.Equal(t, shape(test.calls), shape(got.ToolCalls))
		})
	}
}

// shape is what there is to see of calls.
func shape(calls []llm.ToolCall) []string {
	shapes := make([]string, len(calls))
	for i, c := range calls {
		shapes[i] = fmt.Sprintf("%s %s %s %s", c.ID, c.Name, c.Arguments, c.Fault)
	}
	return shapes
}

// TestToolRequest is what a conversation with tools looks like on the wire: no field is missing that a
// provider may want.
func TestToolRequest(t *testing.T) {
	t.Parallel()
	conversation := []llm.Message{
		{Role: "user", Content: ""},
		{Role: "assistant", Reasoning: "hm", ToolCalls: []llm.ToolCall{{ID: "a", Name: "weather", Arguments: json.RawMessage(oslo)}, {ID: "b", Name: "no such/tool"}}},
		{Role: "tool", ToolCallID: "a", Content: "rain"},
		{Role: "tool", ToolCallID: "b"},
		{Role: "assistant", Content: "It rains.", Reasoning: "so"},
		{Role: "user", Content: "Thanks"},
	}
	const turns = `[{"role":"user","content":""},
		{"role":"assistant","content":null,%s"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"b","type":"function","function":{"name":"no_such_tool","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"a","content":"rain"},{"role":"tool","tool_call_id":"b","content":"(no output)"},
		{"role":"assistant",%s"content":"It rains."},{"role":"user","content":"Thanks"}]`
	plain := fmt.Sprintf(turns, "", "")
	thoughts := fmt.Sprintf(turns, `"reasoning_content":"hm",`, `"reasoning_content":"so",`)
	tests := map[string]struct{ profile, choice, sent, messages string }{
		"free":     {"generic", "", `null`, plain},
		"none":     {"generic", "none", `"none"`, plain},
		"required": {"openai", "required", `"required"`, plain},
		"by name":  {"generic", "now", `{"type":"function","function":{"name":"now"}}`, plain},
		"deepseek": {"deepseek", "", `null`, thoughts},
		"kimi":     {"kimi", "", `null`, thoughts},
		"glm":      {"glm", "", `null`, thoughts},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			bodies := make(chan llmtest.Call, 1)
			p.Handle(func(call llmtest.Call) llmtest.Reply {
				bodies <- call
				return llmtest.Reply{}
			})
			req := askTools()
			req.Model, req.Messages, req.ToolChoice = "gpt-6-sol", conversation, test.choice
			_, err := client(t, p, func(c *openai.Config) { c.Profile = test.profile }).Complete(t.Context(), req, nil)
			require.NoError(t, err)
			call := <-bodies
			var sent struct {
				Messages, Tools json.RawMessage
				Choice          json.RawMessage `json:"tool_choice"`
			}
			require.NoError(t, json.Unmarshal(call.Body, &sent))
			require.JSONEq(t, test.messages, string(sent.Messages))
			require.JSONEq(t, `[{"type":"function","function":{"name":"weather","description":"The weather of a city.","parameters":`+string(req.Tools[0].Parameters)+`}},
				{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}]`, string(sent.Tools))
			require.JSONEq(t, test.sent, or(string(sent.Choice), "null"))
			require.Equal(t, []string{"weather", "now"}, call.Tools)
		})
	}
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// TestToolOfABadSchema is offered as it is: who owns the tool holds the arguments against it.
func TestToolOfABadSchema(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	p.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.ToolCalls(llmtest.Usage{}, llmtest.ToolCall{Name: "weather", Arguments: `{"anything":1}`})
	})
	req := askTools()
	req.Tools[0].Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"(?<=x)y"}}}`)
	got, err := client(t, p).Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Empty(t, got.ToolCalls[0].Fault)
}

// TestReasoning is kept apart from the text.
func TestReasoning(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 100_000)
	tests := map[string]struct {
		reply llmtest.Reply
		want  string
	}{
		"none":               {stream(hello, stop), ""},
		"reasoning_content":  {stream(llmtest.Choice(`{"reasoning_content":"I "}`, ""), llmtest.Choice(`{"reasoning_content":"think"}`, ""), hello, stop), "I think"},
		"reasoning":          {stream(llmtest.Choice(`{"reasoning":"I think","content":""}`, ""), hello, stop), "I think"},
		"both":               {stream(llmtest.Choice(`{"reasoning":"I think","reasoning_content":"I think"}`, ""), hello, stop), "I think"},
		"one of both blank":  {stream(llmtest.Choice(`{"reasoning":"I think","reasoning_content":""}`, ""), hello, stop), "I think"},
		"no text":            {stream(llmtest.Choice(`{"reasoning":{"effort":"low"}}`, ""), hello, stop), ""},
		"characters in half": {stream(llmtest.Choice(`{"reasoning":"\ud83d"}`, ""), llmtest.Choice(`{"reasoning":"\ude80"}`, ""), hello, stop), "🚀"},
		"whole":              {whole(`{"choices":[{"message":{"content":"Hello","reasoning_content":"I think"},"finish_reason":"stop"}]}`), "I think"},
		"more than is kept":  {stream(append(repeat(llmtest.Choice(`{"reasoning":"`+long+`"}`, ""), 8), hello, stop)...), strings.Repeat("ü", 1<<19)},
		"cut in a character": {stream(append(append([]string{llmtest.Choice(`{"reasoning":"x"}`, "")}, repeat(llmtest.Choice(`{"reasoning":"`+long+`"}`, ""), 6)...), hello, stop)...), "x" + strings.Repeat("ü", 1<<19-1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", test.reply)
			got, err := client(t, p).Complete(t.Context(), ask("x"), nil)
			require.NoError(t, err)
			require.Equal(t, "Hello", got.Text)
			require.True(t, test.want == got.Reasoning, "%d bytes, not %d: %.80s", len(got.Reasoning), len(test.want), got.Reasoning)
		})
	}
}

func repeat(event string, n int) []string {
	events := make([]string, n)
	for i := range events {
		events[i] = event
	}
	return events
}

// TestPlainJSON stays what it was before there were tools: ledgers hash it.
func TestPlainJSON(t *testing.T) {
	t.Parallel()
	zero := 0.0
	got, err := json.Marshal(llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: "x"}}, MaxTokens: 9, Temperature: &zero, Schema: &llm.Schema{Name: "n", JSON: json.RawMessage(`{}`)}})
	require.NoError(t, err)
	require.Equal(t, `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":9,"temperature":0,"schema":{"name":"n","json":{}}}`, string(got))
}
