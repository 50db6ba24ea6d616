package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long clients may take. There is no limit on a whole answer: long polls and downloads take
// their time, and each write has its own.
const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	writeTime  = time.Minute
	graceTime  = 20 * time.Second
)

// Serve answers requests until ctx ends. Then it takes no new ones, answers long polls at once with
// what they have, and gives the others, such as uploads, up to 20 seconds. It returns nil after an
// orderly stop, also when some had to be cut off. Streams end at once, and are told when to come back.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) error {
	var sockets sync.WaitGroup
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.WithoutCancel(ctx), stopKey{}, stopping{ctx, &sockets})
		},
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer cancel()
	err := srv.Shutdown(grace)
	sayGoodbye(&sockets)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests were cut off", "after_s", graceTime.Seconds())
		err = srv.Close()
	}
	return err
}

// stopKey finds, in a request's context, what tells that the server is to stop.
type stopKey struct{}

// stopping is a context that ends when the server is to stop, and the connections that are not the server's any more.
type stopping struct {
	ctx     context.Context
	sockets *sync.WaitGroup
}

// sayGoodbye leaves WebSockets, which a shutdown does not know of, a moment to be closed in good form.
func sayGoodbye(sockets *sync.WaitGroup) {
	closed := make(chan struct{})
	go func() {
		sockets.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Second):
	}
}

// asSocket counts a connection that is not the server's any more, until it is closed.
func asSocket(ctx context.Context) (closed func()) {
	stop, ok := ctx.Value(stopKey{}).(stopping)
	if !ok {
		return func() {}
	}
	stop.sockets.Add(1)
	return stop.sockets.Done
}

// untilStop gives a context that ends after a time, with its parent, or when the server is to stop.
func untilStop(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithTimeout(ctx, most)
	stop, ok := ctx.Value(stopKey{}).(stopping)
	if !ok {
		return limited, cancel
	}
	forget := context.AfterFunc(stop.ctx, cancel)
	return limited, func() {
		forget()
		cancel()
	}
}

// paced gives every write a time of its own, so that a reader who has stopped reading is let go,
// and a patient one is not.
func paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), most: writeTime}
		_ = p.control.SetWriteDeadline(time.Time{}) // what the request before left on this connection
		next.ServeHTTP(p, r)
	})
}

type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	most    time.Duration // for one write
}

// hurry gives the writes to a writer less time, and gives the function that sends what was written on its way.
func hurry(w http.ResponseWriter, most time.Duration) (flush func() error) {
	for {
		switch inner := w.(type) {
		case *pacedWriter:
			inner.most = most
			return func() error {
				inner.extend()
				return inner.control.Flush()
			}
		case interface{ Unwrap() http.ResponseWriter }:
			w = inner.Unwrap()
		default:
			return http.NewResponseController(w).Flush
		}
	}
}

// Hijack hands over the connection, without a deadline.
func (p *pacedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	_ = p.control.SetWriteDeadline(time.Time{})
	return p.control.Hijack()
}

// Unwrap lets net/http find what else the writer can do.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader sends the header, which may go out alone.
func (p *pacedWriter) WriteHeader(status int) {
	p.extend()
	p.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer.
func (p *pacedWriter) Write(data []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(data)
}

// extend has no effect on writers that know no deadlines, as in some tests.
func (p *pacedWriter) extend() { _ = p.control.SetWriteDeadline(time.Now().Add(p.most)) }
