package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Provider is a running provider. Its methods are safe for concurrent use.
type Provider struct {
	server   *http.Server
	listener net.Listener

	connections atomic.Int64

	mu       sync.Mutex
	rules    []*rule
	handle   func(Call) Reply
	calls    []Call
	attempts map[string]int // by hash
	counts   Counts
	changed  chan struct{} // closed at every change of the journal
}

// rule answers the calls whose prompt holds its marker.
type rule struct {
	marker  string
	replies []Reply
	used    int
}

// New starts a provider on loopback that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	p, err := Start("127.0.0.1:0")
	if err != nil {
		t.Fatalf("start the scripted provider: %v", err)
	}
	t.Cleanup(p.Close)
	return p
}

// Start starts a provider at an address such as 127.0.0.1:0. Close ends it.
func Start(address string) (*Provider, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &Provider{listener: listener, attempts: map[string]int{}, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.answer)
	mux.HandleFunc("POST /v1/embeddings", p.answer)
	mux.HandleFunc("GET /v1/models", p.models)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ConnState: p.connection}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	return p, nil
}

// URL is the base URL for a client.
func (p *Provider) URL() string { return "http://" + p.listener.Addr().String() + "/v1" }

// Connections is how many connections clients have opened so far.
func (p *Provider) Connections() int { return int(p.connections.Load()) }

func (p *Provider) connection(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		p.connections.Add(1)
	}
}

// Close ends the provider and every connection to it at once.
func (p *Provider) Close() { _ = p.server.Close() }

// On answers the calls whose prompt holds the marker: the first with the first reply and so on, and
// the last reply for all that follow. Of several markers in a prompt the one set first counts; a
// marker that is set again starts anew.
func (p *Provider) On(marker string, replies ...Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		if r.marker == marker {
			r.replies, r.used = replies, 0
			return
		}
	}
	p.rules = append(p.rules, &rule{marker: marker, replies: replies})
}

// Handle answers the calls without a marker; nil is the default answer again. It runs under the
// provider's lock, one call at a time, and must not use the provider.
func (p *Provider) Handle(handle func(Call) Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handle = handle
}

// match finds a call's rule. The lock is held.
func (p *Provider) match(call *Call) *rule {
	for _, r := range p.rules {
		if strings.Contains(call.Prompt, r.marker) {
			r.used++
			call.Marker, call.Nth = r.marker, r.used
			return r
		}
	}
	return nil
}

// choose gives the reply to a call. The lock is held.
func (p *Provider) choose(r *rule, call Call) Reply {
	switch {
	case r != nil && len(r.replies) > 0:
		return or(r.replies[min(call.Nth, len(r.replies))-1], call)
	case r == nil && p.handle != nil:
		return or(p.handle(call), call)
	default:
		return Default(call)
	}
}

// or gives the default answer for a reply that has nothing in it but times.
func or(r Reply, call Call) Reply {
	if r.Status == 0 && r.Header == nil && r.Parts == nil && r.End == Finish {
		good := Default(call)
		r.Header, r.Parts = good.Header, good.Parts
	}
	return r
}

// Default is the good answer that a call gets when nothing else was chosen: its text has the hash of
// the prompt in it, or its vectors are those of Vector, and its usage is a token for every four bytes.
func Default(call Call) Reply {
	if call.Inputs != nil {
		return embed(call)
	}
	text := fmt.Sprintf("The answer to prompt %s of %d bytes.", call.Hash, len(call.Prompt))
	usage := Usage{Input: len(call.Prompt)/4 + 1, Output: len(text)/4 + 1}
	if !call.Stream {
		return Raw("application/json", JSON(text, usage))
	}
	return Answer(text, usage)
}

func (p *Provider) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"llmtest-1","object":"model","created":1790000000,"owned_by":"longhaul"}]}`)
}

func (p *Provider) answer(w http.ResponseWriter, r *http.Request) {
	call, err := parse(r)
	if err != nil {
		http.Error(w, `{"error":{"message":"the request cannot be read","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	index, reply := p.begin(call)
	status, written, err := reply.write(w, r)
	p.end(index, status, reply.told(written), err != nil)
	reply.leave(w)
}

// parse reads a request as the journal keeps it.
func parse(r *http.Request) (Call, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Call{}, err
	}
	var asked struct {
		Model    string
		Stream   bool
		Messages []struct{ Role, Content string }
		Tools    []struct{ Function struct{ Name string } }

		Input      inputs
		Dimensions int
		Encoding   string `json:"encoding_format"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return Call{}, err
	}
	contents := []string(asked.Input)
	var tools, results []string
	for _, m := range asked.Messages {
		contents = append(contents, m.Content)
		if m.Role != "tool" {
			results = nil
		} else {
			results = append(results, m.Content)
		}
	}
	for _, tool := range asked.Tools {
		tools = append(tools, tool.Function.Name)
	}
	prompt := strings.Join(contents, "\n\n")
	return Call{
		Tools: tools, Results: results,
		Model: asked.Model, Prompt: prompt, Hash: Hash(prompt), Stream: asked.Stream, Body: body,
		Inputs: asked.Input, Dimensions: asked.Dimensions, Base64: asked.Encoding == "base64",
		Header: r.Header, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	}, nil
}

// errGone is a client that closed its socket.
var errGone = errors.New("the client is gone")
