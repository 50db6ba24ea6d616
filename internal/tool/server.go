package tool

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"longhaul/internal/task"
)

// Server is an MCP server: a command to start, or an address.
type Server struct {
	Name     string // what the names of its tools begin with
	Command  string
	Args     []string
	Env      []string // names of the variables that it may see, besides PATH, HOME and TMPDIR
	URL      string   // of its streamable HTTP endpoint
	Headers  map[string]string
	Approval task.Approval // what a task cannot make less strict
	Timeout  time.Duration // for one call; 0 means two minutes
}

const (
	callWithin  = 2 * time.Minute  // unless the configuration says otherwise
	startWithin = 30 * time.Second // to start or connect, and to tell of its tools
	aliveWithin = 5 * time.Second  // to a ping, after a call got no answer
)

// checkServer says what is wrong with a server.
func (k *Kit) checkServer(s Server) error {
	switch {
	case (s.Command == "") == (s.URL == ""):
		return errors.New("needs either a command or a url")
	case s.Command != "":
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url: is not a plain http or https address")
	}
	return errors.Join(checkHeaders(s.Headers), k.secrets.check(s.Headers, u))
}

// server keeps the connection to an MCP server, and makes it anew when it broke.
type server struct {
	Server
	kit  *Kit
	turn chan struct{} // held by whoever connects

	mu     sync.Mutex
	live   *link // nil while there is none
	closed bool
	ends   sync.WaitGroup // connections that are being closed
}

func (k *Kit) newServer(s Server) *server {
	if s.Timeout <= 0 {
		s.Timeout = callWithin
	}
	return &server{Server: s, kit: k, turn: make(chan struct{}, 1)}
}

// link is one connection.
type link struct {
	session *mcp.ClientSession
	process *process      // nil for an address
	gone    chan struct{} // closed when the other side ended it
}

// end closes a connection. A server that hangs is not waited for.
func (l *link) end() {
	if l.process != nil {
		l.process.stop()
	}
	go func() { _ = l.session.Close() }()
	select {
	case <-l.gone:
	case <-time.After(patience):
	}
}

func (l *link) lost() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// connect gives the connection, or makes one. Others wait meanwhile. Nothing was asked of the server when it fails.
func (s *server) connect(ctx context.Context) (*link, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	l, closed := s.live, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, errors.New("the tools are closed")
	case l != nil && !l.lost():
		return l, nil
	case l != nil:
		s.drop(l)
	}
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.end()
		return nil, errors.New("the tools are closed")
	}
	s.live = l
	return l, nil
}

// drop forgets a connection that is of no more use.
func (s *server) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == l {
		s.live = nil
		s.ends.Go(l.end)
	}
}

// later does something that close waits for, and nothing once it was called.
func (s *server) later(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.ends.Go(do)
	}
}

func (s *server) close() {
	s.mu.Lock()
	l := s.live
	s.live, s.closed = nil, true
	s.mu.Unlock()
	if l != nil {
		l.end()
	}
	s.ends.Wait()
}

// dial starts or reaches the server and says hello.
func (s *server) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	l := &link{gone: make(chan struct{})}
	way, err := s.way(l)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "longhaul", Version: task.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // there is nothing that a server could ask of us
	})
	l.session, err = patiently(ctx, func() (*mcp.ClientSession, error) { return client.Connect(ctx, way, nil) })
	if err != nil {
		if l.process != nil {
			l.process.stop()
		}
		return nil, err
	}
	go func() {
		_ = l.session.Wait()
		close(l.gone)
	}()
	return l, nil
}

// way is how messages get to the server.
func (s *server) way(l *link) (mcp.Transport, error) {
	if s.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: s.client(), DisableStandaloneSSE: true}, nil
	}
	var err error
	if l.process, err = startProcess(s.Server, s.kit.options.Log, s.kit.secrets.scrub); err != nil {
		return nil, err
	}
	return &mcp.IOTransport{Reader: l.process.out, Writer: l.process.in}, nil
}

// client goes to the server's address alone.
func (s *server) client() *http.Client {
	return &http.Client{
		Transport:     &courier{server: s, next: s.kit.transport()},
		Timeout:       s.Timeout + startWithin, // what ends first is the context of a call
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// courier puts the server's headers on each request, and notes how far it got.
type courier struct {
	server *server
	next   http.RoundTripper
}

func (c *courier) RoundTrip(req *http.Request) (*http.Response, error) {
	headers, err := c.server.kit.secrets.fill(c.server.Headers, req.URL)
	if err != nil {
		return nil, err
	}
	noted := tripOf(req.Context())
	req = req.Clone(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaders: func() { noted.sent.Store(true) }}))
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := c.next.RoundTrip(req)
	if err == nil && req.Method == http.MethodPost {
		noted.status.Store(int32(resp.StatusCode))
	}
	return resp, err
}

// trip is how far the request of a call got.
type trip struct {
	sent   atomic.Bool
	status atomic.Int32 // of HTTP; 0 while there is no answer
}

type tripKey struct{}

// tripOf is the trip that ctx carries, or one that nobody looks at.
func tripOf(ctx context.Context) *trip {
	if t, ok := ctx.Value(tripKey{}).(*trip); ok {
		return t
	}
	return new(trip)
}

// patiently gives what f gives, but not later than ctx ends: a pipe that nobody reads knows no context.
func patiently[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
