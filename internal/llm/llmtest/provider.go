package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"longhaul/internal/fakeserver"
)

// Provider is a running provider. Its methods are safe for concurrent use.
type Provider struct {
	fakeserver.Server
	fakeserver.Journal[Call, Counts]

	scripts  fakeserver.Scripts[[]Reply]
	handle   func(Call) Reply
	attempts map[string]int // by hash
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
	p := &Provider{attempts: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.answer)
	mux.HandleFunc("POST /v1/embeddings", p.answer)
	mux.HandleFunc("GET /v1/models", p.models)
	if err := p.Listen(address, mux); err != nil {
		return nil, err
	}
	return p, nil
}

// URL is the base URL for a client.
func (p *Provider) URL() string { return "http://" + p.Host() + "/v1" }

// On answers the calls whose prompt holds the marker: the first with the first reply and so on, and
// the last reply for all that follow. Of several markers in a prompt the one set first counts; a
// marker that is set again starts anew.
func (p *Provider) On(marker string, replies ...Reply) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.scripts.Set(marker, replies)
}

// Handle answers the calls without a marker; nil is the default answer again. It runs under the
// provider's lock, one call at a time, and must not use the provider.
func (p *Provider) Handle(handle func(Call) Reply) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.handle = handle
}

// choose returns the reply to a call, and notes its marker. The lock is held.
func (p *Provider) choose(call *Call) Reply {
	replies, marker, nth := p.scripts.Match(call.Prompt)
	call.Marker, call.Nth = marker, nth
	if nth == 0 && p.handle != nil {
		return or(p.handle(*call), *call)
	}
	return or(fakeserver.Nth(replies, nth), *call)
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
