package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"longhaul/internal/llm"
)

// chunk is one event of a stream, or an answer that came whole. Only what is read is declared, and
// no field has a type that a provider could miss. It is used again for each event.
type chunk struct {
	Model   raw       `json:"model"`
	Choices [1]choice `json:"choices"` // one was asked for
	Usage   raw       `json:"usage"`
}

type choice struct {
	Index        raw     `json:"index"`
	Delta        message `json:"delta"`
	Message      message `json:"message"` // of an answer that came whole
	FinishReason raw     `json:"finish_reason"`
}

type message struct {
	Role             raw `json:"role"`
	Content          raw `json:"content"`
	Refusal          raw `json:"refusal"`
	Reasoning        raw `json:"reasoning"`
	ReasoningContent raw `json:"reasoning_content"`
	ToolCalls        raw `json:"tool_calls"`
	FunctionCall     raw `json:"function_call"` // the one call of providers of the age before tools
}

func (c *chunk) reset() {
	first := &c.Choices[0]
	for _, field := range []*raw{&c.Model, &c.Usage, &first.Index, &first.FinishReason} {
		*field = (*field)[:0]
	}
	first.Delta.reset()
	first.Message.reset()
}

func (m *message) reset() {
	for _, field := range []*raw{&m.Role, &m.Content, &m.Refusal, &m.Reasoning, &m.ReasoningContent, &m.ToolCalls, &m.FunctionCall} {
		*field = (*field)[:0]
	}
}

// there reports whether anything of a choice came.
func (c *choice) there() bool {
	return len(c.Index)+len(c.FinishReason) > 0 || c.Delta.there() || c.Message.there()
}

func (m *message) there() bool {
	return len(m.Role)+len(m.Content)+len(m.ToolCalls)+len(m.FunctionCall) > 0
}

// raw is any JSON value, as it stood there; null is as good as nothing.
type raw []byte

// UnmarshalJSON keeps a copy of the value, and never fails.
func (r *raw) UnmarshalJSON(data []byte) error {
	*r = (*r)[:0]
	if string(data) != "null" {
		*r = append(*r, data...)
	}
	return nil
}

// text is what a JSON string says, and nothing for any other value.
func (r raw) text() string {
	if len(r) < 2 || r[0] != '"' {
		return ""
	}
	var text string
	_ = json.Unmarshal(r, &text) // cannot fail: it comes out of valid JSON
	return text
}

// usage reads what a call used. Nothing, an object without counts and one of zeros are unknown, not zero:
// no answer is made of nothing.
func (r raw) usage() llm.Usage {
	if len(r) == 0 || r[0] != '{' {
		return llm.Usage{}
	}
	var u struct {
		Prompt     count `json:"prompt_tokens"`
		Completion count `json:"completion_tokens"`
		Input      count `json:"input_tokens"`
		Output     count `json:"output_tokens"`
		CacheHit   count `json:"prompt_cache_hit_tokens"`
		Details    raw   `json:"prompt_tokens_details"`
	}
	_ = json.Unmarshal(r, &u) // cannot fail: no field has a type to miss
	var details struct {
		Cached count `json:"cached_tokens"`
	}
	_ = json.Unmarshal(u.Details, &details) // what is no object has no counts
	in, out := or(u.Prompt, u.Input), or(u.Completion, u.Output)
	return llm.Usage{
		Known: in.n+out.n > 0, InputTokens: in.n, OutputTokens: out.n,
		CachedTokens: or(details.Cached, u.CacheHit).n,
	}
}

// count is a number of tokens: an integer, a float, or either in quotes. What is none is absent.
type count struct {
	n     int64
	known bool
}

// UnmarshalJSON never fails: a count that cannot be read must not lose an answer.
func (c *count) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err == nil && f >= 0 && f < 1e15 {
		*c = count{int64(f), true}
	}
	return nil
}
