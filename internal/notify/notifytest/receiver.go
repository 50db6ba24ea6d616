// Package notifytest stands in for those who are told: a receiver of webhooks that does as it is scripted, and a mailbox.
//
// It is for tests alone.
package notifytest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// Reply is what a receiver does with one call. The zero value is 200 with an empty body.
type Reply struct {
	Status  int
	Header  map[string]string
	Hang    bool // no answer, until the caller leaves
	Endless bool // an answer of 200 whose body does not end
	Body    int  // bytes of the body
}

// Call is one call that a receiver got.
type Call struct {
	At     time.Time
	Path   string
	Header http.Header
	Body   []byte
	Number int // of the calls with this id, from 1
}

// ID is the id of the message.
func (c Call) ID() string { return c.Header.Get("webhook-id") }

// Receiver is a receiver of webhooks at an address of this machine.
type Receiver struct {
	server *httptest.Server
	reply  func(Call) Reply

	mu    sync.Mutex
	calls []Call
	sent  int64         // bytes of bodies
	news  chan struct{} // closed and replaced with every call
}

// New starts a receiver that asks reply what to do; nil takes every message.
func New(reply func(Call) Reply) *Receiver {
	r := &Receiver{reply: reply, news: make(chan struct{})}
	r.server = httptest.NewServer(r)
	return r
}

// URL is its address.
func (r *Receiver) URL() string { return r.server.URL }

// Close ends it.
func (r *Receiver) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

// Calls are all calls so far.
func (r *Receiver) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Sent is how many bytes of bodies it got rid of.
func (r *Receiver) Sent() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// WaitFor waits until there were n calls.
func (r *Receiver) WaitFor(ctx context.Context, n int) error {
	for {
		r.mu.Lock()
		got, news := len(r.calls), r.news
		r.mu.Unlock()
		if got >= n {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ServeHTTP takes a call.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	call := r.note(Call{At: time.Now(), Path: req.URL.RequestURI(), Header: req.Header.Clone(), Body: body})
	reply := Reply{}
	if r.reply != nil {
		reply = r.reply(call)
	}
	if reply.Hang {
		<-req.Context().Done()
		return
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(max(reply.Status, http.StatusOK))
	r.fill(w, reply)
}

func (r *Receiver) note(call Call) Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	call.Number = 1
	for _, before := range r.calls {
		if before.ID() == call.ID() {
			call.Number++
		}
	}
	r.calls = append(r.calls, call)
	close(r.news)
	r.news = make(chan struct{})
	return call
}

// fill writes the body of an answer, as long as somebody takes it.
func (r *Receiver) fill(w io.Writer, reply Reply) {
	block := make([]byte, 64<<10)
	for left := reply.Body; left > 0 || reply.Endless; left -= len(block) {
		n, err := w.Write(block)
		r.mu.Lock()
		r.sent += int64(n)
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}
