package openai

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// answer is what a call has given so far.
type answer struct {
	chunk   chunk // the newest
	text    text
	refusal text
	thought text
	calls   calls
	chose   bool // there was a choice
	finish  string
	model   string
	usage   llm.Usage

	estimates bool // the usage is a relay's guess
}

// collect reads a stream to its end and says what it amounts to.
func (x *exchange) collect(stream *goopenai.ChatCompletionStream, onProgress func(llm.Progress)) (llm.Response, error) {
	a := answer{estimates: x.client.profile.Estimates}
	for {
		line, err := stream.RecvRaw()
		switch {
		case errors.Is(err, io.EOF):
			return x.conclude(&a)
		case err != nil && a.finish != "" && !told(x.fault(err)):
			return x.conclude(&a) // only the usage or the end mark is missing
		case err != nil:
			return llm.Response{}, x.brokenOff(err, a.usage)
		}
		unfinished := a.finish == ""
		grew, err := a.add(line)
		if err != nil {
			return llm.Response{}, spent(x.fail(llm.Retry, task.BadResponse, "a part of the answer is not JSON: %s", err), a.usage)
		}
		if grew {
			x.grew()
		}
		if unfinished && a.finish != "" {
			x.hurry(afterFinish)
		}
		if grew && onProgress != nil {
			onProgress(a.text.progress())
		}
	}
}

// told reports whether an error is the provider's word, as opposed to a connection that gave no more.
func told(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && !errors.Is(e, errCut)
}

// brokenOff is why a stream gave no answer. A caller that left is told what had been used by then, if the provider said.
func (x *exchange) brokenOff(err error, usage llm.Usage) error {
	if own := x.caller.Err(); own != nil && usage.Known {
		return &llm.Error{Class: llm.Retry, Code: task.AnswerIncomplete, Message: "the caller left", Status: x.status, Partial: usage, Err: own}
	}
	return spent(x.fault(err), usage)
}

// spent notes on an error what the failed call used.
func spent(err error, usage llm.Usage) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		e.Partial = usage
	}
	return err
}

// add takes a chunk in, and reports whether it brought text or thought.
func (a *answer) add(line []byte) (bool, error) {
	c := &a.chunk
	c.reset()
	if err := json.Unmarshal(line, c); err != nil {
		return false, err
	}
	if a.model == "" {
		a.model = c.Model.text()
	}
	if usage := c.Usage.usage(); usage.Known {
		a.usage = usage
		a.usage.Estimated = a.estimates
	}
	first := &c.Choices[0]
	a.chose = a.chose || first.there()
	a.finish = or(strings.ToLower(first.FinishReason.text()), a.finish)
	return a.hear(&first.Delta) || a.hear(&first.Message), nil
}

// hear takes in what a message says.
func (a *answer) hear(m *message) bool {
	wrote, refused := a.text.add(m.Content), a.refusal.add(m.Refusal)
	thought, called := a.muse(m), a.calls.hear(m)
	return wrote || refused || thought || called
}

// maxThought is how many bytes of a model's thoughts are kept.
const maxThought = 1 << 20

// muse takes in what a model tells of its thoughts, under either of its names.
func (a *answer) muse(m *message) bool {
	told := m.ReasoningContent
	if !truthy(told) {
		told = m.Reasoning
	}
	if a.thought.Len() < maxThought {
		a.thought.add(told)
	}
	return truthy(told)
}

// reasoning is what is kept of the thoughts.
func (a *answer) reasoning() string {
	a.thought.flush()
	all := a.thought.String()
	if len(all) <= maxThought {
		return all
	}
	return strings.ToValidUTF8(all[:maxThought], "") // without the part of a character that the cut left
}

// ending is what a finish reason says of an answer.
type ending int

const (
	unknown  ending = iota // taken for complete, with a warning
	complete               // the model came to its end
	limited                // the model came to the limit of tokens
	filtered               // the provider does not want to say it
	broken                 // the provider could not go on
	missing                // the stream ended without any
)

// endings is every finish reason that providers are known to give, in lower case.
var endings = map[string]ending{
	"": missing, "null": missing,
	"stop": complete, "eos": complete, "end_turn": complete, "stop_sequence": complete, "tool_calls": complete, "function_call": complete,
	"length": limited, "max_tokens": limited,
	"content_filter": filtered, "sensitive": filtered, "refusal": filtered, "safety": filtered,
	"abort": broken, "error": broken, "network_error": broken, "insufficient_system_resource": broken, "cancelled": broken,
}

// conclude turns an answer that will not grow any more into a response, or says why it is none.
func (x *exchange) conclude(a *answer) (llm.Response, error) {
	a.text.flush()
	if x.tools == nil {
		a.calls = nil // what was not offered cannot be asked for
	}
	err, text := x.verdict(a), a.text.String()
	var asked []llm.ToolCall
	switch {
	case err != nil:
	case len(a.calls) > 0:
		text = strings.TrimSpace(text) // often nothing but line ends
		asked, err = x.asked(a.calls)
	case x.form != nil:
		text, err = x.fit(text, endings[a.finish] == limited)
	}
	if err != nil {
		return llm.Response{}, spent(err, a.usage)
	}
	reason := "stop"
	switch endings[a.finish] {
	case limited:
		reason = "length"
	case unknown:
		x.client.config.Log.WarnContext(x.caller, "finish reason not known, taken for stop",
			"provider", x.client.config.Name, "finish_reason", x.client.scrub.line(a.finish, maxCode), "request_id", x.requestID)
	}
	if x.truncated(a.usage) {
		x.client.config.Log.WarnContext(x.caller, "the provider counted so few tokens that it may have cut the prompt",
			"provider", x.client.config.Name, "characters", x.prompt, "input_tokens", a.usage.InputTokens, "request_id", x.requestID)
	}
	return llm.Response{
		Text: text, ToolCalls: asked, Reasoning: a.reasoning(), FinishReason: reason, Model: a.model, RequestID: x.requestID, Usage: a.usage,
		Simulated: x.header.Get("X-Longhaul-Simulated") == "true", Limits: limits(x.header, x.client.profile.LimitsPer),
	}, nil
}

// truncated reports whether a prompt is much longer than what the provider says it read: some cut it to
// what the model takes, and say nothing. No text of any language has so many characters a token.
func (x *exchange) truncated(u llm.Usage) bool {
	const perToken, short = 8, 2000
	return u.Known && !u.Estimated && x.prompt > short && int64(x.prompt) > perToken*(u.InputTokens+u.CachedTokens)
}

// verdict is nil for an answer that is one.
func (x *exchange) verdict(a *answer) error {
	ending := endings[a.finish]
	switch blank := strings.TrimSpace(a.text.String()) == ""; {
	case !a.chose:
		return x.fail(llm.Retry, task.BadResponse, "the answer has no choices in it")
	case ending == filtered || a.refusal.String() != "":
		return x.fail(llm.Final, task.ContentFiltered, "%s", or(a.refusal.String(), "the provider withheld the answer (finish reason "+a.finish+")"))
	case ending == broken:
		return x.fail(llm.Retry, task.AnswerIncomplete, "the provider broke the answer off (finish reason %s)", a.finish)
	case ending == missing:
		return x.fail(llm.Retry, task.AnswerIncomplete, "the answer ended without a finish reason")
	case ending == limited && len(a.calls) > 0:
		return x.fail(llm.Final, task.AnswerIncomplete, "the limit of tokens was used up before the tool calls were complete; allow more tokens")
	case len(a.calls) > 0:
		return nil
	case blank && ending == limited:
		return x.fail(llm.Final, task.AnswerIncomplete, "the limit of tokens was used up before the answer began; allow more tokens")
	case blank:
		return x.fail(llm.Retry, task.BadResponse, "the answer is empty")
	}
	return nil
}
