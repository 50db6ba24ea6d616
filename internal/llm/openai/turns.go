package openai

import (
	"regexp"

	"longhaul/internal/llm"
)

// turn is a message on the wire. Its content is there even when it is empty, which go-openai would not
// send: providers that want the field refuse the whole conversation without it.
type turn struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"` // nil of an assistant's message that only calls tools
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"` // function
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// turns puts messages as the wire has them.
func (p Profile) turns(messages []llm.Message) []turn {
	silent := "(no output)" // of a tool that said nothing: some providers take no empty result
	turns := make([]turn, len(messages))
	for i, m := range messages {
		content := &m.Content
		switch {
		case m.Content != "":
		case m.Role == "tool":
			content = &silent
		case len(m.ToolCalls) > 0:
			content = nil
		}
		turns[i] = turn{Role: m.Role, Content: content, ToolCalls: wireCalls(m.ToolCalls), ToolCallID: m.ToolCallID}
		if p.Thoughts {
			turns[i].Reasoning = m.Reasoning
		}
	}
	return turns
}

// nameless are the characters that a tool's name may not have. A model may have called one that does not
// exist, and the conversation must go on.
var nameless = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

func wireCalls(calls []llm.ToolCall) []wireCall {
	var wire []wireCall
	for _, c := range calls {
		name := nameless.ReplaceAllString(c.Name, "_")
		wire = append(wire, wireCall{c.ID, "function", wireFunction{name[:min(len(name), 64)], or(string(c.Arguments), "{}")}})
	}
	return wire
}
