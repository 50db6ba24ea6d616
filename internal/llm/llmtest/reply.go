package llmtest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/fakeserver"
)

// Reply is how one call is answered. The zero value is a good streamed answer (see Answer).
type Reply struct {
	Status   int           // 0 means 200
	Header   http.Header   // set before the status; Content-Type is text/event-stream unless it is here
	Parts    [][]byte      // written and flushed one by one
	Delay    time.Duration // before the status line
	Gap      time.Duration // before every part but the first
	Bytewise bool          // flush after every single byte
	End      End           // what happens after the last part
}

// End is what a provider does after the last part of a reply.
type End int

// The ends of a reply.
const (
	Finish  End = iota // end the body as HTTP wants it
	Close              // close the connection of a body without a length: a clean end of file
	Cut                // close the connection in the middle of the body
	Reset              // reset the connection
	Silence            // send nothing more until the client goes away
	Ping               // send comments for ever, every Gap (20 ms when it is zero)
)

// Forever is a delay that only the client's leaving ends.
const Forever = fakeserver.Forever

// Usage is what a good answer says it used.
type Usage struct {
	Input, Output, Cached int
}

// Answer is a good streamed answer of that text: a chunk for each word, a finish reason, the usage
// and the end mark.
func Answer(text string, usage Usage) Reply {
	events := []string{Delta("", "")}
	for word := range strings.SplitAfterSeq(text, " ") {
		events = append(events, Delta(word, ""))
	}
	return Stream(append(events, Delta("", "stop"), UsageEvent(usage), "[DONE]")...)
}

// Stream is a reply of server-sent events, each in a part of its own.
func Stream(data ...string) Reply {
	parts := make([][]byte, len(data))
	for i, d := range data {
		parts[i] = []byte("data: " + d + "\n\n")
	}
	return Reply{Parts: parts}
}

// Raw is a reply of the bytes as they are, with a content type; "" leaves that of a stream.
func Raw(contentType string, parts ...string) Reply {
	r := Reply{}
	if contentType != "" {
		r = r.With("Content-Type", contentType)
	}
	for _, part := range parts {
		r.Parts = append(r.Parts, []byte(part))
	}
	return r
}

// Fail is a reply with a status and a body, which is JSON when it looks so.
func Fail(status int, body string) Reply {
	r := Raw(fakeserver.ContentType(body), body).With("Content-Length", strconv.Itoa(len(body)))
	r.Status = status
	return r
}

// RateLimit is a 429 that asks to come back after so many seconds; 0 asks nothing.
func RateLimit(seconds int) Reply {
	r := Fail(http.StatusTooManyRequests, `{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}`)
	if seconds > 0 {
		r = r.With("Retry-After", strconv.Itoa(seconds))
	}
	return r
}

// Delta is the JSON of a chunk with some text, or with a finish reason, or with neither.
func Delta(text, finish string) string {
	delta := `{"role":"assistant"}`
	if text != "" {
		delta = `{"content":` + fakeserver.Quote(text) + `}`
	} else if finish != "" {
		delta = `{}`
	}
	return Choice(delta, finish)
}

// Choice is the JSON of a chunk with this delta, which is JSON, and with a finish reason unless it is "".
func Choice(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = fakeserver.Quote(finish)
	}
	return fmt.Sprintf(`{"id":"chatcmpl-test","object":"chat.completion.chunk","created":1790000000,"model":"llmtest-1","choices":[{"index":0,"delta":%s,"finish_reason":%s}],"usage":null}`, delta, reason)
}

// ToolCall is a call that a scripted model asks for.
type ToolCall struct {
	Name      string
	Arguments string // "" means {}
	ID        string // "" means call_ and its number from 1, which is the same in every answer
}

// ToolCalls is a good streamed answer that asks for tools: of each call the name, then its arguments in
// pieces; then a finish reason, the usage and the end mark.
func ToolCalls(usage Usage, calls ...ToolCall) Reply {
	events := []string{Delta("", "")}
	for i, c := range calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i+1)
		}
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		events = append(events, Choice(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, fakeserver.Quote(c.ID), fakeserver.Quote(c.Name)), ""))
		for piece := range strings.SplitAfterSeq(c.Arguments, " ") {
			events = append(events, Choice(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, fakeserver.Quote(piece)), ""))
		}
	}
	return Stream(append(events, Delta("", "tool_calls"), UsageEvent(usage), "[DONE]")...)
}

// UsageEvent is the JSON of the chunk that tells the usage.
func UsageEvent(u Usage) string {
	return `{"id":"chatcmpl-test","object":"chat.completion.chunk","created":1790000000,"model":"llmtest-1","choices":[],"usage":` + u.json() + `}`
}

// JSON is the body of a good answer that is not a stream.
func JSON(text string, usage Usage) string {
	return `{"id":"chatcmpl-test","object":"chat.completion","created":1790000000,"model":"llmtest-1","choices":[{"index":0,"message":{"role":"assistant","content":` +
		fakeserver.Quote(text) + `},"finish_reason":"stop"}],"usage":` + usage.json() + `}`
}

func (u Usage) json() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.Cached)
}

// With adds a header.
func (r Reply) With(name, value string) Reply {
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set(name, value)
	return r
}

// After waits before the status line.
func (r Reply) After(d time.Duration) Reply {
	r.Delay = d
	return r
}

// Every waits between the parts.
func (r Reply) Every(gap time.Duration) Reply {
	r.Gap = gap
	return r
}

// ByteByByte flushes after every single byte.
func (r Reply) ByteByByte() Reply {
	r.Bytewise = true
	return r
}

// Then chooses the end.
func (r Reply) Then(end End) Reply {
	r.End = end
	return r
}
