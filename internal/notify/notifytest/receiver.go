// Package notifytest stands in for those who are told: a receiver of webhooks that does as it is scripted, and a mailbox.
//
// It is for tests alone.
package notifytest

import (
	"context"
	"io"
	"net/http"
	"time"

	"longhaul/internal/fakeserver"
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

// Counts sums the calls up.
type Counts struct {
	Calls int
	Sent  int64 // bytes of bodies that were written
}

// Receiver is a receiver of webhooks at an address of this machine.
type Receiver struct {
	fakeserver.Server
	fakeserver.Journal[Call, Counts]

	reply func(Call) Reply
}

// New starts a receiver that asks reply what to do; nil takes every message. It panics if it cannot listen.
func New(reply func(Call) Reply) *Receiver {
	r := &Receiver{reply: reply}
	if err := r.Listen("127.0.0.1:0", r); err != nil {
		panic(err)
	}
	return r
}

// URL is its address.
func (r *Receiver) URL() string { return "http://" + r.Host() }

// Sent is how many bytes of bodies it has written.
func (r *Receiver) Sent() int64 { return r.Counts().Sent }

// WaitFor returns once there were n calls; the error is the context's.
func (r *Receiver) WaitFor(ctx context.Context, n int) error {
	return r.Wait(ctx, func(c Counts) bool { return c.Calls >= n })
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
		fakeserver.Pause(req, fakeserver.Forever)
		return
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(max(reply.Status, http.StatusOK))
	r.fill(w, reply)
}

func (r *Receiver) note(call Call) Call {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	call.Number = 1
	for _, before := range r.Log {
		if before.ID() == call.ID() {
			call.Number++
		}
	}
	r.Log = append(r.Log, call)
	r.Sum.Calls++
	r.Changed()
	return call
}

// fill writes the body of an answer, as long as somebody takes it.
func (r *Receiver) fill(w io.Writer, reply Reply) {
	block := make([]byte, 64<<10)
	for left := reply.Body; left > 0 || reply.Endless; left -= len(block) {
		n, err := w.Write(block)
		r.Mu.Lock()
		r.Sum.Sent += int64(n)
		r.Mu.Unlock()
		if err != nil {
			return
		}
	}
}
