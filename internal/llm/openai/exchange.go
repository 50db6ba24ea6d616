package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// Caps on what a provider may send.
const (
	maxEvent     = 16 << 20 // one event, or one answer that should have been a stream
	maxBody      = 64 << 20 // everything of one call
	maxErrorBody = 64 << 10 // the body of an error; the rest is not read
)

// How long a provider may keep the connection busy after the part that matters.
const (
	afterFinish = 10 * time.Second       // from the finish reason, or an error's status, to the end
	afterDone   = 100 * time.Millisecond // from the end mark to the end, so that the connection can be used again
)

// errCut is behind every error of a connection that ended or fell silent by itself, as opposed to a
// provider that said that something is wrong.
var errCut = errors.New("the connection gave no more")

// exchange is one HTTP request and its answer: the Doer that go-openai sends through, once.
type exchange struct {
	client *Client
	caller context.Context // the caller's own
	ctx    context.Context // ends with it, or with a timeout of ours as its cause
	cancel context.CancelCauseFunc
	extras map[string]any
	key    string // for idempotency; "" is none
	form   *form  // of the answer; nil is any
	tools  tools  // that were offered; nil is none
	prompt int    // its characters
	vector bool   // vectors are asked for: their reader looks for an error where there are none

	silence  *time.Timer // runs while no byte comes
	stall    *time.Timer // runs while no text comes
	total    *time.Timer // runs once
	received int64

	sent      bool
	began     atomic.Bool // a byte of the body has come
	status    int         // of the answer; 0 until there is one
	header    http.Header // of the answer
	requestID string
}

// open begins an exchange. Its close must be called.
func (c *Client) open(ctx context.Context, extras map[string]any) *exchange {
	x := &exchange{client: c, caller: ctx, extras: extras}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.silence = x.alarm(c.config.FirstByteTimeout, x.silent)
	x.stall = x.alarm(c.config.ProgressTimeout, func() late {
		return late{task.AnswerIncomplete, fmt.Sprintf("the provider kept the connection open for %s without any text", c.config.ProgressTimeout)}
	})
	x.total = x.alarm(c.config.TotalTimeout, func() late {
		return late{task.AnswerIncomplete, fmt.Sprintf("the answer was not complete after %s", c.config.TotalTimeout)}
	})
	return x
}

// close ends the exchange, and its connection if the answer was not read to the end.
func (x *exchange) close() {
	for _, timer := range []*time.Timer{x.silence, x.stall, x.total} {
		timer.Stop()
	}
	x.cancel(nil)
}

// late is the cause of an exchange that one of our own limits ended.
type late struct {
	code    task.Code
	message string
}

func (l late) Error() string { return l.message }

// alarm ends the exchange after d, unless it is wound again before.
func (x *exchange) alarm(d time.Duration, why func() late) *time.Timer {
	timer := time.AfterFunc(math.MaxInt64, func() { x.cancel(why()) })
	wind(timer, d)
	return timer
}

// wind lets a timer run for d from now, or not at all when d is no limit.
func wind(timer *time.Timer, d time.Duration) {
	if d <= 0 {
		timer.Stop()
		return
	}
	timer.Reset(d)
}

func (x *exchange) silent() late {
	if x.began.Load() {
		return late{task.AnswerIncomplete, "the provider fell silent in the middle of its answer"}
	}
	return late{task.ModelUnavailable, fmt.Sprintf("the provider sent nothing for %s", x.client.config.FirstByteTimeout)}
}

// heard notes n bytes of the body.
func (x *exchange) heard(n int) error {
	if n == 0 {
		return nil
	}
	x.began.Store(true)
	wind(x.silence, x.client.config.IdleTimeout)
	if x.received += int64(n); x.received > maxBody {
		return x.fail(llm.Final, task.BadResponse, "the answer is larger than %d MiB", maxBody>>20)
	}
	return nil
}

// grew notes that there is more text, the model's thoughts included.
func (x *exchange) grew() { wind(x.stall, x.client.config.ProgressTimeout) }

// hurry leaves the provider d for all that is still to come: what matters has come.
func (x *exchange) hurry(d time.Duration) { wind(x.total, d) }

// api is go-openai with this exchange underneath.
func (x *exchange) api() *goopenai.Client {
	wire := x.client.wire
	wire.HTTPClient = x
	return goopenai.NewClientWithConfig(wire)
}

// Do sends the request and gives back an answer that is worth reading: a body of clean event lines
// when it asks for a stream, a whole JSON object when not. Everything else is an *llm.Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if x.sent {
		return nil, x.fail(llm.Final, task.BadResponse, "a call is one request")
	}
	if err := x.complete(req); err != nil {
		return nil, err
	}
	x.sent = true
	res, err := x.client.http.Do(req)
	if err != nil {
		return nil, x.fault(err)
	}
	x.status, x.header = res.StatusCode, res.Header
	x.requestID = x.client.scrub.line(requestID(res.Header), maxCode)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, x.refusal(res)
	}
	if req.Header.Get("Accept") == "text/event-stream" {
		res.Body = newEvents(x, res.Body)
		return res, nil
	}
	return x.whole(res)
}

// complete adds to a request what go-openai cannot send.
func (x *exchange) complete(req *http.Request) error {
	req.Header.Set("User-Agent", "longhaul")
	if x.key != "" {
		// Not by Set: net/http takes the name with capitals for a leave to send a POST again by itself.
		req.Header["idempotency-key"] = []string{x.key}
	}
	if req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if body, err = splice(body, x.extras); err != nil {
		return err
	}
	// GetBody lets net/http take another connection when an idle one turns out to be dead before
	// anything was written to it.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(body))
	return nil
}

// post sends a JSON body that go-openai has no words for, and gives back the whole answer.
func (x *exchange) post(path string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, x.fault(err)
	}
	req, err := http.NewRequestWithContext(x.ctx, http.MethodPost, strings.TrimRight(x.client.config.BaseURL, "/")+path, bytes.NewReader(data))
	if err != nil {
		return nil, x.fault(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if x.client.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+x.client.config.Key)
	}
	res, err := x.Do(req)
	if err != nil {
		return nil, x.fault(err)
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// whole reads an answer that is not a stream, up to the cap.
func (x *exchange) whole(res *http.Response) (*http.Response, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(&source{x, res.Body})
	if err != nil {
		return nil, err
	}
	if body = bytes.TrimSpace(body); !bytes.HasPrefix(body, []byte("{")) {
		return nil, x.oddity(body)
	}
	if len(body) <= maxErrorBody && !x.vector { // no error is larger
		if f := read(body); f.told {
			return nil, x.said(f)
		}
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// source is a body that keeps the exchange's watch and speaks in its errors.
type source struct {
	x *exchange
	r io.Reader
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if capped := s.x.heard(n); capped != nil {
		return 0, capped
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.x.fault(s.x.lost(task.AnswerIncomplete, "the connection was closed in the middle of the answer: %s", err))
	}
	return n, err
}

// fault turns whatever ended the exchange into the caller's own context error or an *llm.Error.
func (x *exchange) fault(err error) error {
	if own := x.caller.Err(); own != nil {
		return own
	}
	if limit, ok := errors.AsType[late](context.Cause(x.ctx)); ok {
		return x.lost(limit.code, "%s", limit.message)
	}
	if ours, ok := errors.AsType[*llm.Error](err); ok {
		return ours
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address
	}
	switch {
	case !x.sent:
		return x.fail(llm.Final, task.ModelRefused, "the request was not sent: %s", err)
	case x.status == 0:
		e := x.fail(llm.Retry, task.ModelUnavailable, "the provider cannot be reached: %s", placeless(err))
		e.Err = err
		return e
	default:
		return x.fail(llm.Retry, task.BadResponse, "the answer cannot be read: %s", err)
	}
}

// placeless is what went wrong with a connection without where to: that is for the log alone.
func placeless(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}

// lost is an error of a connection that gave no more; it is worth another try.
func (x *exchange) lost(code task.Code, format string, args ...any) *llm.Error {
	e := x.fail(llm.Retry, code, format, args...)
	e.Err = errCut
	return e
}

// fail makes an error of this exchange.
func (x *exchange) fail(class llm.Class, code task.Code, format string, args ...any) *llm.Error {
	message := x.client.scrub.line(fmt.Sprintf(format, args...), maxMessage)
	return &llm.Error{
		Class: class, Code: code, Message: or(message, "no reason given"),
		Provider: x.client.config.Name, Status: x.status, RequestID: x.requestID, Limits: limits(x.header, x.client.profile.LimitsPer),
	}
}

// requestID finds the provider's name for this request, for its support desk.
func requestID(header http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Tt-Logid", "X-Ds-Trace-Id", "Apim-Request-Id", "Cf-Ray"} {
		if id := strings.TrimSpace(header.Get(name)); id != "" {
			return id
		}
	}
	return ""
}
