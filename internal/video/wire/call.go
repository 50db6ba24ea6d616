package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// maxAnswer is the largest answer that is not a video, in bytes.
const maxAnswer = 8 << 20

// reply is what came of one request.
type reply struct {
	sent bool           // bytes of it may have reached the provider
	res  *http.Response // nil when no answer came; its body has been read
	body []byte
	err  error // the caller's own of its context, or an *llm.Error, of an answer that is not 2xx too
}

// do makes one request. The fence goes along as an idempotency key: it is harmless where it means nothing.
func (c *Client) do(ctx context.Context, method, path string, body any, fence string) reply {
	slow := fmt.Errorf("it did not answer within %s", c.config.Timeout)
	inner, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, slow)
	defer cancel()
	var sent atomic.Bool
	inner = httptrace.WithClientTrace(inner, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req, err := c.request(inner, method, path, body, fence)
	if err != nil {
		return reply{err: c.unsent(err)}
	}
	res, err := c.api.Do(req)
	if err != nil {
		return reply{sent: sent.Load(), err: c.fault(ctx, inner, err)}
	}
	defer res.Body.Close()
	r := reply{sent: true, res: res}
	if r.body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
		r.err = c.fault(ctx, inner, err)
	} else if res.StatusCode < 200 || res.StatusCode > 299 {
		r.err = c.voice.Refusal(res, r.body)
	}
	return r
}

func (c *Client) request(ctx context.Context, method, path string, body any, fence string) (*http.Request, error) {
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		data = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.config.BaseURL, "/")+path, data)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if fence != "" {
		// Not by Set: net/http takes the name with capitals for a leave to send a POST again by itself.
		req.Header["idempotency-key"] = []string{fence}
	}
	c.sign(req)
	return req, nil
}

// sign says who asks. Only a request to the provider's own origin may have the key.
func (c *Client) sign(req *http.Request) {
	req.Header.Set("User-Agent", "longhaul")
	if c.config.Key != "" && c.own(req.URL) {
		req.Header.Set("Authorization", "Bearer "+c.config.Key)
	}
}

// unsent is the error of a request that cannot be made.
func (c *Client) unsent(err error) *llm.Error {
	e := c.voice.Unreachable(err)
	e.Class, e.Code, e.Message = llm.Final, task.ModelRefused, "the request cannot be sent: it is not one that can be written"
	return e
}

// fault is the error of a request without a whole answer.
func (c *Client) fault(caller, inner context.Context, err error) error {
	if own := caller.Err(); own != nil {
		return own
	}
	if inner.Err() != nil {
		return c.voice.Unreachable(context.Cause(inner))
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address
	}
	return c.voice.Unreachable(err)
}

// oddity is the error of a good status without a job behind it.
func (c *Client) oddity(r reply) *llm.Error {
	body := bytes.TrimSpace(r.body)
	switch doc := parse(body); {
	case len(body) == 0:
		return c.voice.Oddity(r.res, "the answer is empty")
	case doc != nil && complains(doc):
		e := c.voice.Refusal(r.res, body)
		e.Tries = 2
		return e
	case doc != nil:
		return c.voice.Oddity(r.res, "the answer has no job in it")
	}
	return c.voice.Oddity(r.res, "the answer is not JSON")
}

// complains reports whether an answer says that something is wrong.
func complains(doc any) bool { return at(doc, "error") != nil || first(doc, messagePlaces) != "" }

// doubt is the error of a failed start, marked when there may be a job for all that is known.
func (r reply) doubt() error {
	e, refused := errors.AsType[*llm.Error](r.err)
	switch {
	case !r.sent, refused && r.settled(e):
		return r.err
	case refused:
		e.Err = errors.Join(video.ErrAmbiguous, e.Err)
		return e
	}
	return fmt.Errorf("%w: %w", video.ErrAmbiguous, r.err)
}

// settled reports whether an error says that nothing came of the request: the provider calls it a bad one, or
// says in its own words that it takes none now. A gateway knows less, and so does a server that broke.
func (r reply) settled(e *llm.Error) bool {
	if r.res == nil {
		return false
	}
	status, own := r.res.StatusCode, parse(r.body) != nil
	switch {
	case status < 300:
		return own && e.Class == llm.Final
	case status == http.StatusRequestTimeout, status == 499:
		return false
	case status == http.StatusServiceUnavailable, status == 529:
		return own
	}
	return status < 500
}

// passing is the error of a question about a job: it tells nothing of the job, so it never is final.
func (r reply) passing() error {
	e, ok := errors.AsType[*llm.Error](r.err)
	if !ok {
		return r.err
	}
	if e.Class == llm.Final {
		e.Class = llm.Retry
	}
	e.Tries = 0
	if r.missing(e) {
		e.Err = errors.Join(video.ErrNoJob, e.Err)
	}
	return e
}

// missing reports whether the provider itself says that there is no such job.
func (r reply) missing(e *llm.Error) bool {
	if r.res == nil || parse(r.body) == nil {
		return false
	}
	code := squeeze(e.ProviderCode)
	word := slices.ContainsFunc([]string{"notexist", "notfound"}, func(w string) bool { return strings.Contains(code, w) })
	status := r.res.StatusCode
	return status == http.StatusNotFound || status == http.StatusGone || word && status < 500
}
