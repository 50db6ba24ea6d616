package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/guard"
	"longhaul/internal/task"
)

// How much of a receiver's answer is read, and for how long: it is not wanted, and a connection is used again only if
// it was read to its end.
const (
	mostAnswer = 4 << 10
	drainTime  = time.Second
)

// longestRetryAfter bounds what a receiver may ask for.
const longestRetryAfter = 24 * time.Hour

// Sender posts webhooks, and only to where the guard lets it: every address is checked at the moment it is dialled. It
// is safe for concurrent use.
type Sender struct {
	client  *http.Client
	timeout time.Duration
}

// NewSender makes a Sender that gives each attempt so much time. AllowPrivate is what may be called besides public
// addresses on ports 80 and 443: host:port, host (any port), or CIDR.
func NewSender(allowPrivate []string, timeout time.Duration) *Sender {
	transport := guard.Transport(allowPrivate)
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.DisableCompression = true // what is not read need not be unpacked
	return &Sender{timeout: timeout, client: &http.Client{
		Transport: transport,
		// A redirect would take the message, and its signature, to somebody who was not named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Post makes one attempt to send a message, signed now with each of the secrets; with none it is not signed.
func (s *Sender) Post(ctx context.Context, address string, m Message, secrets []string) Answer {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(m.Body))
	if err != nil {
		return refused("the address is not a URL")
	}
	now := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "longhaul/"+task.Version)
	req.Header.Set("webhook-id", m.ID)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	if len(secrets) > 0 {
		signature, err := sign(m, now, secrets)
		if err != nil {
			return refused(err.Error())
		}
		req.Header.Set("webhook-signature", signature)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return s.unanswered(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, mostAnswer) // the status has said it all
	return answered(resp, now)
}

// answered reads what a receiver said.
func answered(resp *http.Response, now time.Time) Answer {
	a := Answer{Status: resp.StatusCode}
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300:
		return a
	case status >= 300 && status < 400:
		a.Err = fmt.Errorf("it answered %d and redirects are not followed; set the address that it points to", status)
	case status == http.StatusGone:
		a.Err, a.Final, a.Gone = errors.New("it answered 410: it wants no more messages"), true, true
	default:
		a.Err = errors.New(strings.TrimSpace(fmt.Sprintf("it answered %d %s", status, http.StatusText(status))))
		a.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
	}
	return a
}

// retryAfter reads how long to wait: a number of seconds, or a time.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, longestRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestRetryAfter)
	}
	return 0
}

// unanswered says why there was no answer, without addresses: what a name leads to inside is nobody's business outside.
func (s *Sender) unanswered(ctx context.Context, err error) Answer {
	if _, ok := errors.AsType[*task.Error](err); ok {
		return refused("only public addresses on ports 80 and 443 are called; ask the operator to allow this one (notify.allow_private)")
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the wrapping repeats the whole address
	}
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(ctx.Err(), context.DeadlineExceeded) || ok && timeout.Timeout() {
		return Answer{Err: fmt.Errorf("it did not answer within %s", s.timeout), Slow: true}
	}
	return Answer{Err: errors.New(guard.Reason(err))}
}
