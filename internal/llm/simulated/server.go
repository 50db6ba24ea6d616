package simulated

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// Model is the only model there is, whatever name was asked for.
const Model = "longhaul-simulated"

// maxBody is the largest request, in bytes.
const maxBody = 32 << 20

// Options say how the provider behaves.
type Options struct {
	Latency time.Duration // how long an answer takes, give or take half; 0 means a second, negative none
	Seed    uint64        // varies the times; the same seed and prompt take the same time

	// Answer answers the prompts that this package does not know; nil answers none.
	Answer func(system, user string) (answer string, ok bool)
}

// New makes the provider's handler.
func New(options Options) http.Handler {
	if options.Latency == 0 {
		options.Latency = time.Second
	}
	s := server{options}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/embeddings", embeddings)
	mux.HandleFunc("GET /v1/models", models)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Longhaul-Simulated", "true")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	})
}

// Start serves the provider on a free loopback port until ctx ends or stop is called, and gives its
// base URL for a client.
func Start(ctx context.Context, options Options) (baseURL string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: New(options), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with stop
	end := func() { _ = server.Close() }
	unhook := context.AfterFunc(ctx, end)
	return "http://" + listener.Addr().String() + "/v1", func() { unhook(); end() }, nil
}

type server struct{ options Options }

// pace gives the time between two of n chunks for an answer to this prompt.
func (s server) pace(prompt string, n int) time.Duration {
	if s.options.Latency < 0 || n == 0 {
		return 0
	}
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, prompt)
	share := 0.5 + rand.New(rand.NewPCG(s.options.Seed, hash.Sum64())).Float64()
	return time.Duration(share*float64(s.options.Latency)) / time.Duration(n)
}

// decode reads a JSON body, and answers for itself when it cannot.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		refuse(w, http.StatusRequestEntityTooLarge, "the request is too large")
		return false
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the request is not the JSON that is expected here: "+err.Error())
		return false
	}
	return true
}

// refuse answers with an error as OpenAI has it.
func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{
		"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil},
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error here is a client that went away
}

func models(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"object": "list", "data": []any{map[string]any{"id": Model, "object": "model", "created": 0, "owned_by": "longhaul"}},
	})
}
