package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"longhaul/internal/task"
)

// Request is one call for one answer. Its JSON is what the ledger hashes, so a field that changes
// the answer belongs here, and a field that does not (a deadline, a trace id) must stay out.
type Request struct {
	Model       string    `json:"model"`
	Messages    []Message `json:"messages"`
	MaxTokens   int       `json:"max_tokens,omitempty"`  // 0 lets the provider decide
	Temperature *float64  `json:"temperature,omitempty"` // nil lets the provider decide; 0 is sent as 0
	Schema      *Schema   `json:"schema,omitempty"`      // nil takes any text
	Tools       []Tool    `json:"tools,omitempty"`       // that the model may ask for
	ToolChoice  string    `json:"tool_choice,omitempty"` // "" lets the model choose; none, required, or a tool's name

	// IdempotencyKey is sent along, for the providers that do not answer, and charge, the same request
	// twice; "" sends none. It must be another one for another request.
	IdempotencyKey string `json:"-"`
}

// Schema is the form that an answer must have. It is asked for as strictly as the provider can, and
// checked here whatever the provider promises.
type Schema struct {
	Name string          `json:"name"` // letters, digits, _ and -, at most 64; "" is as good as any
	JSON json.RawMessage `json:"json"` // a JSON Schema
}

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user, assistant or tool
	Content string `json:"content"`

	Reasoning  string     `json:"reasoning,omitempty"`    // the assistant's; sent only to providers that want it back
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // the assistant's; each needs a message of role tool after it
	ToolCallID string     `json:"tool_call_id,omitempty"` // of role tool: the call whose result this is
}

// Tool is something that a model may ask to have done. Asking is all it can: whoever made the request does
// it, or does not, and tells the result in a message of role tool.
type Tool struct {
	Name        string          `json:"name"` // letters, digits, _ and -, at most 64
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments, an object; none takes {}
}

// ToolCall is one use of a tool that a model asked for.
type ToolCall struct {
	ID        string          `json:"id"` // no other call of the answer has it
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`       // always a JSON object; {} for none
	Fault     string          `json:"fault,omitempty"` // why the call cannot be carried out, in words for the model; "" is usable
}

// Response is a complete answer: it has text, or tool calls, or both, and its finish reason was accepted.
// It has no tool calls where no tool was offered.
type Response struct {
	Text         string     `json:"text"`                 // of a request with a schema the JSON alone, which is valid, unless there are tool calls
	ToolCalls    []ToolCall `json:"tool_calls,omitempty"` // in the order asked for
	Reasoning    string     `json:"reasoning,omitempty"`  // what a thinking model told of its thoughts, at most 1 MiB
	FinishReason string     `json:"finish_reason"`        // stop; or length, when the provider cut the answer at MaxTokens
	Model        string     `json:"model"`                // as the provider named it
	RequestID    string     `json:"request_id,omitempty"`
	Usage        Usage      `json:"usage"`
	Simulated    bool       `json:"simulated,omitempty"` // the built-in simulated provider answered
	Limits       Limits     `json:"-"`                   // of the key, as told with this answer
}

// Limits are what a provider says that a key may use in a minute. Zeros were not told.
type Limits struct {
	Requests, Tokens float64
}

// Usage is what the provider says a call used. Known is false when it said nothing: the numbers
// are then unknown, not zero.
type Usage struct {
	Known        bool  `json:"known"`
	Estimated    bool  `json:"estimated,omitempty"` // a relay counted, not the model's provider
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	CachedTokens int64 `json:"cached_tokens,omitempty"` // part of InputTokens
}

// Progress tells how far a streaming answer has come.
type Progress struct {
	Bytes int    // of answer text so far
	Text  string // all of it, whole characters only
}

// Model answers requests. It makes exactly one HTTP request a call: whoever calls it decides about
// trying again. Cancelling ctx closes the connection to the provider. onProgress may be nil; it is
// called from the calling goroutine. The error is always an *Error, or ctx's own; an *Error that wraps ctx's
// own is that with what had been used by then.
type Model interface {
	Complete(ctx context.Context, req Request, onProgress func(Progress)) (Response, error)
}

// Class says what a failed call means for the next attempt.
type Class string

// The classes.
const (
	Retry Class = "retry" // a passing fault: try again with backoff
	Wait  Class = "wait"  // asked to slow down: try again after RetryAfter, and count no fault
	Final Class = "final" // trying again cannot help
)

// Error is a call that gave no answer.
type Error struct {
	Class        Class
	Code         task.Code // one of the model codes
	Message      string    // what the provider said, cut to 500 characters, without keys
	Provider     string    // the provider's configured name
	Status       int       // HTTP status; 0 when no answer came
	ProviderCode string    // the provider's own error code or type
	RequestID    string
	RetryAfter   time.Duration // 0 when no hint was given
	Tries        int           // how often this failure may be met before it is final; 0 leaves it to the caller
	Answer       string        // the whole answer that broke its schema, to be shown to the model with Message for a repair
	Limits       Limits        // of the key, as told with the refusal
	Partial      Usage         // what the provider said it used for the failed call, if it did
	Err          error         // what was behind it, for the log
}

// Error is the sentence for a log line.
func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s: %s", e.Provider, e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: HTTP %d: %s", e.Provider, e.Code, e.Status, e.Message)
}

// Unwrap gives what was behind it.
func (e *Error) Unwrap() error { return e.Err }

// Task puts the error into the words that a task and its reader use.
func (e *Error) Task() *task.Error {
	t := task.Errorf(e.Code, "%s", e.Message).Because(e)
	t.Provider = &task.Provider{Name: e.Provider, Status: e.Status, Code: e.ProviderCode, RequestID: e.RequestID}
	return t
}
