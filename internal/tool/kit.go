package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"longhaul/internal/document"
	"longhaul/internal/guard"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// Definition is one tool as the model is told of it and as it is run. Its JSON is kept with the task,
// so that the tools stay the same over a run of days. It holds no secret.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`         // JSON Schema of type object
	Approval    bool            `json:"approval,omitempty"` // a person must approve each call
	Safe        bool            `json:"safe,omitempty"`     // it only reads: a call whose end is not known may be made again
	Spec        task.ToolSpec   `json:"spec"`               // where it comes from
	Remote      string          `json:"remote,omitempty"`   // what its MCP server calls it; "" for others
}

// NeedsTask reports whether the tool is part of the agent itself, and not for a Kit to run.
func (d Definition) NeedsTask() bool {
	switch d.Spec.Builtin {
	case "", Fetch, Calculator, Time:
		return false
	}
	return true
}

// Call is one use of a tool.
type Call struct {
	ID        string // the same however often the call is tried: it is sent as the Idempotency-Key; "" sends none
	Tenant    string
	Arguments json.RawMessage // a JSON object; nothing is as {}
}

// Result is what a tool answered, for the model.
type Result struct {
	Text        string // valid UTF-8, at most 1 MiB
	IsError     bool   // the text says what went wrong
	ContentType string // of the text, such as application/json; "" when it is a sentence of ours
	Truncated   bool   // the end of the text is missing
}

// maxText is how much text a result has at most, in bytes.
const maxText = 1 << 20

// Options are what tools are made of. The zero value gives the builtin tools but fetch.
type Options struct {
	Fetcher      *document.Fetcher   // for fetch
	Reader       *document.Extractor // gets the text out of pages and documents
	Scratch      string              // folder for a page while it is read; "" means the system's
	HTTP         []HTTPTool          // tools that a task calls by name
	MCP          []Server
	Secrets      []Secret
	AllowPrivate []string         // what may be called although it is not public: host:port, host, or CIDR
	Now          func() time.Time // nil means time.Now
	Log          *slog.Logger     // nil means no logs
}

// Kit has the tools of one worker. It is safe for concurrent use.
type Kit struct {
	options Options
	calls   *http.Transport // for HTTP tools
	secrets vault
	http    map[string]HTTPTool
	mcp     map[string]*server
}

// New makes a Kit. Its error tells every mistake in the options. No server is asked or started before it is
// needed. Call Close in the end.
func New(options Options) (*Kit, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	k := &Kit{options: options, http: map[string]HTTPTool{}, mcp: map[string]*server{}}
	k.secrets = vault{all: options.Secrets, guard: guard.NewDialer(options.AllowPrivate)}
	k.calls = k.transport()
	// A connection that was used before may be closed under a call, which Go would then make once more.
	k.calls.DisableKeepAlives = true
	var mistakes []error
	for _, t := range options.HTTP {
		if err := k.checkHTTP(t.HTTPTool); err != nil {
			mistakes = append(mistakes, fmt.Errorf("HTTP tool %s: %w", t.Name, err))
		}
		k.http[t.Name] = t
	}
	for _, s := range options.MCP {
		if err := k.checkServer(s); err != nil {
			mistakes = append(mistakes, fmt.Errorf("MCP server %s: %w", s.Name, err))
		}
		k.mcp[s.Name] = k.newServer(s)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return k, nil
}

// Close ends all connections and the servers that were started. It may be called more than once.
func (k *Kit) Close() error {
	for _, s := range k.mcp {
		s.close()
	}
	return nil
}

// failure is how a call came to a known end without a result: it was never made, or it was answered. The text is
// for the model. Every other error means that the end of the call is not known.
type failure string

func (f failure) Error() string { return string(f) }

func failed(format string, args ...any) error { return failure(fmt.Sprintf(format, args...)) }

// Run makes one call. Whatever the tool answers is a Result, and so is a call that surely was not made.
//
// An error means that it is not known whether the call took effect: the connection was lost after it was
// sent, or the time ran out, or ctx ended, and then it is ctx's own. Nothing is tried again here.
func (k *Kit) Run(ctx context.Context, d Definition, call Call) (Result, error) {
	if d.NeedsTask() {
		return Result{}, fmt.Errorf("tool: %s is for the agent to run", d.Name)
	}
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage("{}")
	}
	err := d.Check(call.Arguments)
	var result Result
	if err == nil {
		result, err = k.run(ctx, d, call)
	}
	told, known := errors.AsType[failure](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return Result{}, ctx.Err()
	case known:
		result = Result{Text: string(told), IsError: true}
	case err != nil:
		return Result{}, k.secrets.scrubError(err)
	}
	return k.finish(result), nil
}

func (k *Kit) run(ctx context.Context, d Definition, call Call) (Result, error) {
	switch {
	case d.Spec.HTTP != nil:
		return k.callHTTP(ctx, HTTPTool{HTTPTool: *d.Spec.HTTP}, call)
	case d.Spec.Configured != "":
		return k.callConfigured(ctx, d, call)
	case d.Spec.MCP != "":
		return k.callMCP(ctx, d, call)
	case d.Spec.Builtin == Fetch:
		return k.fetch(ctx, call)
	case d.Spec.Builtin == Calculator:
		return calculate(call)
	default:
		return k.tellTime(call)
	}
}

// Check holds arguments to the schema that the model was shown. One that does not compile is a server's own, which
// checks for itself. The error is for the model.
func (d Definition) Check(arguments json.RawMessage) error {
	if err := schema.WellFormed(arguments); err != nil {
		return failed("The arguments are not valid JSON: %s", task.AsError(err).Detail)
	}
	if len(arguments) == 0 || strings.TrimSpace(string(arguments))[0] != '{' {
		return failed("The arguments must be a JSON object.")
	}
	compiled, err := schema.Compile(d.Parameters)
	if err != nil {
		return nil
	}
	faults := compiled.Check(arguments)
	if len(faults) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The arguments of %s are not valid, and the call was not made:", d.Name)
	for _, fault := range faults[:min(len(faults), 10)] {
		fmt.Fprintf(&b, "\n- %s %s", fault.Pointer, fault.Detail)
	}
	return failure(b.String())
}

// finish holds a text to what Result promises.
func (k *Kit) finish(r Result) Result {
	r.Text = k.secrets.scrub(strings.ToValidUTF8(r.Text, "\uFFFD"))
	if len(r.Text) > maxText {
		r.Text, r.Truncated = clip(r.Text, maxText), true
	}
	return r
}

// clip keeps the beginning of a text, at a border of characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
