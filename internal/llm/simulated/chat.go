package simulated

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
	"time"
)

// request is the part of a chat request that is understood here.
type request struct {
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ResponseFormat      struct {
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// system and user are the instructions, and the newest message of the user.
func (r request) split() (system, user string) {
	for _, m := range r.Messages {
		switch m.Role {
		case "system", "developer":
			system += m.Content + "\n"
		case "user":
			user = m.Content
		}
	}
	return system, user
}

// prompt is all that was said so far.
func (r request) prompt() string {
	var all strings.Builder
	for _, m := range r.Messages {
		all.WriteString(m.Content + "\n")
		for _, c := range m.ToolCalls {
			all.WriteString(c.Function.Name + c.Function.Arguments + "\n")
		}
	}
	return all.String()
}

// reply is what there is to say: tools to use, an answer, labels, JSON of a schema, a report of what tools gave, or a summary.
func (r request) reply(id string, known func(system, user string) (string, bool)) (text string, calls []toolCall) {
	system, user := r.split()
	if known != nil {
		if text, ok := known(system, user); ok {
			return text, nil
		}
	}
	form := r.ResponseFormat.JSONSchema.Schema
	if calls = r.plan(id); len(calls) > 0 {
		return "", calls
	}
	answer, asked := answerQuestion(system, user)
	labels, many := labelTexts(system, user, form)
	switch {
	case asked:
		return answer, nil
	case many:
		return labels, nil
	case len(form) > 0:
		return r.known().answer(form), nil
	case len(r.Tools) > 0, len(r.results()) > 0:
		return r.report(), nil
	default:
		return summarise(system, user), nil
	}
}

// limit is the most tokens an answer may have; 0 is none.
func (r request) limit() int { return max(r.MaxTokens, r.MaxCompletionTokens) }

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type choice struct {
	Index        int      `json:"index"`
	Message      *message `json:"message,omitempty"`
	Delta        *delta   `json:"delta,omitempty"`
	FinishReason *string  `json:"finish_reason"`
}

type delta struct {
	Role      string     `json:"role,omitempty"`
	Content   string     `json:"content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

func (s server) chat(w http.ResponseWriter, r *http.Request) {
	var req request
	if !decode(w, r, &req) {
		return
	}
	if _, user := req.split(); strings.TrimSpace(user) == "" {
		refuse(w, http.StatusBadRequest, "messages has no message of the user with text in it")
		return
	}
	prompt := req.prompt()
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, prompt)
	id := fmt.Sprintf("sim-%016x", hash.Sum64())
	text, calls := req.reply(id, s.options.Answer)
	reason := "stop"
	if limit := req.limit(); limit > 0 && tokens(text) > limit {
		text, reason = firstTokens(text, limit), "length"
	}
	c := completion{
		ID: "chatcmpl-" + id, Object: "chat.completion", Created: time.Now().Unix(), Model: Model,
		Usage: &usage{Prompt: tokens(prompt), Completion: tokens(text)},
	}
	pieces := chunks(text)
	for _, call := range calls {
		reason = "tool_calls"
		pieces = append(pieces, delta{ToolCalls: []toolCall{call}})
		c.Usage.Completion += tokens(call.Function.Name + call.Function.Arguments)
	}
	c.Usage.Total = c.Usage.Prompt + c.Usage.Completion
	gap := s.pace(prompt, len(pieces))
	if req.Stream {
		stream(w, r, c, pieces, gap, reason, req.StreamOptions.IncludeUsage)
		return
	}
	if pause(r, gap*time.Duration(len(pieces))) {
		c.Choices = []choice{{Message: &message{Role: "assistant", Content: text, ToolCalls: calls}, FinishReason: &reason}}
		answer(w, http.StatusOK, c)
	}
}

// stream sends a completion piece by piece, and stops when the client goes away.
func stream(w http.ResponseWriter, r *http.Request, c completion, pieces []delta, gap time.Duration, reason string, withUsage bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	used := c.Usage
	c.Object, c.Usage = "chat.completion.chunk", nil
	send := func(choices ...choice) bool {
		c.Choices = append([]choice{}, choices...)
		event, err := json.Marshal(c)
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", event)
		}
		return err == nil && http.NewResponseController(w).Flush() == nil
	}
	if !send(choice{Delta: &delta{Role: "assistant"}}) {
		return
	}
	for _, piece := range pieces {
		if !pause(r, gap) || !send(choice{Delta: &piece}) {
			return
		}
	}
	if !send(choice{Delta: &delta{}, FinishReason: &reason}) {
		return
	}
	if c.Usage = used; withUsage && !send() {
		return
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// chunks cuts an answer into pieces of some words, as a model sends it.
func chunks(text string) []delta {
	var pieces []delta
	from, words := 0, 0
	for i, r := range text {
		if r == ' ' || r == '\n' || wide(r) {
			words++
		}
		if words == 4 {
			pieces, from, words = append(pieces, delta{Content: text[from:i]}), i, 0
		}
	}
	return append(pieces, delta{Content: text[from:]})
}

// pause waits, and reports whether the client is still there.
func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
