// Package fakeserver is the common part of the scripted servers of tests: a server on loopback, a journal of its calls that
// can be waited for, scripts by a marker in a prompt, and delays that end when a client closes its socket.
//
// It is for tests, benchmarks and end-to-end drivers only: no program of the product imports it.
package fakeserver

import (
	"encoding/json"
	"math"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Server is an HTTP server. Its methods are safe for concurrent use once Listen has returned.
type Server struct {
	server      *http.Server
	address     string
	connections atomic.Int64
}

// Listen starts the server at an address such as 127.0.0.1:0. Close ends it.
func (s *Server) Listen(address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	s.server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return nil
}

// Host is the address it listens at: host:port.
func (s *Server) Host() string { return s.address }

// Connections counts the connections that clients have opened so far.
func (s *Server) Connections() int { return int(s.connections.Load()) }

// Close ends the server and every connection to it at once.
func (s *Server) Close() { _ = s.server.Close() }

// Refusing is an address on loopback that refuses every connection.
func Refusing(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	return listener.Addr().String()
}

// Forever is a delay that ends only when the client closes its socket.
const Forever = time.Duration(math.MaxInt64)

// Pause waits, and reports whether the client is still there.
func Pause(req *http.Request, d time.Duration) bool {
	if d <= 0 {
		return req.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-req.Context().Done():
		return false
	}
}

// ContentType is the type of a body: JSON or HTML, by its first byte. An empty one is JSON.
func ContentType(body string) string {
	if body == "" || strings.ContainsAny(body[:1], `{["`) {
		return "application/json"
	}
	return "text/html; charset=utf-8"
}

// Quote is the JSON of a text.
func Quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(quoted)
}
