package simulated

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Model is the only model there is, whatever name was asked for.
const Model = "longhaul-simulated-video"

// tokens is the usage reported for a second of film.
const tokens = 24

// Limits of a request, and of what is remembered.
const (
	maxBody    = 32 << 20 // bytes
	maxSeconds = 60
	maxJobs    = 10_000 // beyond it the oldest are forgotten
)

// Options say how the provider behaves.
type Options struct {
	Latency time.Duration    // from the start of a job until its film is there; 0 means 4 seconds, negative none
	Clock   func() time.Time // nil means time.Now
}

// job is a film that was asked for. Its state follows from the time.
type job struct {
	id, fence, prompt  string
	resolution, aspect string
	seconds            int
	seed               int64
	created            time.Time
	cancelled          bool
}

// server remembers its jobs in the order of their start.
type server struct {
	latency time.Duration
	clock   func() time.Time

	mu     sync.Mutex
	jobs   []*job
	number int
}

// New makes the provider's handler.
func New(options Options) http.Handler {
	s := &server{latency: cmp.Or(options.Latency, 4*time.Second), clock: options.Clock}
	if s.clock == nil {
		s.clock = time.Now
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v3/contents/generations/tasks", s.create)
	mux.HandleFunc("GET /api/v3/contents/generations/tasks", s.list)
	mux.HandleFunc("GET /api/v3/contents/generations/tasks/{id}", s.get)
	mux.HandleFunc("DELETE /api/v3/contents/generations/tasks/{id}", s.remove)
	mux.HandleFunc("GET /films/{name}", s.film)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Longhaul-Simulated", "true")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	})
}

// Start serves the provider on a free loopback port until ctx ends or stop is called, and gives its
// base URL for a client of the ark dialect.
func Start(ctx context.Context, options Options) (baseURL string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: New(options), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with stop
	end := func() { _ = server.Close() }
	unhook := context.AfterFunc(ctx, end)
	return "http://" + listener.Addr().String() + "/api/v3", func() { unhook(); end() }, nil
}

// request is the part of a request that is understood here.
type request struct {
	Content []struct {
		Type, Text string
	} `json:"content"`
	Duration   int    `json:"duration"`
	Resolution string `json:"resolution"`
	Ratio      string `json:"ratio"`
	Seed       *int64 `json:"seed"`
	Fence      string `json:"safety_identifier"`
}

// job checks a request; an error says what is wrong with it.
func (r request) job() (*job, error) {
	j := &job{
		fence: r.Fence, resolution: cmp.Or(r.Resolution, "720p"), seconds: cmp.Or(r.Duration, 5),
	}
	j.aspect, _ = shape(r.Ratio)
	for _, part := range r.Content {
		j.prompt = strings.TrimSpace(j.prompt + "\n" + part.Text)
	}
	switch {
	case len(r.Content) == 0:
		return nil, fmt.Errorf("content is empty; it needs a text or an image")
	case j.seconds < 1 || j.seconds > maxSeconds:
		return nil, fmt.Errorf("duration is %d; it may be 1 to %d seconds", j.seconds, maxSeconds)
	}
	if j.seed = int64(fingerprint(j.prompt)); r.Seed != nil {
		j.seed = *r.Seed
	}
	return j, nil
}

func fingerprint(text string) uint32 {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, text)
	return hash.Sum32()
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		refuse(w, http.StatusBadRequest, "InvalidParameter", "the request is not the JSON that is expected here: "+err.Error())
		return
	}
	j, err := req.job()
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidParameter", err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	j.created = s.clock()
	j.id = fmt.Sprintf("cgt-sim-%d-%08x-%d", j.created.Unix(), fingerprint(j.prompt), s.number)
	if s.jobs = append(s.jobs, j); len(s.jobs) > maxJobs {
		s.jobs = slices.Delete(s.jobs, 0, 1)
	}
	answer(w, http.StatusOK, map[string]any{"id": j.id, "safety_identifier": j.fence})
}

// find gives a copy of a job, and answers for itself when there is none.
func (s *server) find(w http.ResponseWriter, id string) (job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.jobs, func(j *job) bool { return j.id == id })
	if at < 0 {
		refuse(w, http.StatusNotFound, "ResourceNotFound", "there is no task "+strconv.Quote(id)+"; the simulated provider forgets its tasks when it ends")
		return job{}, false
	}
	return *s.jobs[at], true
}

func (s *server) get(w http.ResponseWriter, r *http.Request) {
	if j, ok := s.find(w, r.PathValue("id")); ok {
		answer(w, http.StatusOK, s.show(j, r.Host))
	}
}

// list gives all jobs, newest first, a page at a time.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page_num"))
	size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
	page, size = max(page, 1), min(max(size, 1), 500)
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for n := len(s.jobs) - 1 - (page-1)*size; n >= 0 && len(items) < size; n-- {
		items = append(items, s.show(*s.jobs[n], r.Host))
	}
	answer(w, http.StatusOK, map[string]any{"total": len(s.jobs), "items": items})
}

// remove cancels what has not begun, and forgets what is over. What is on its way goes on.
func (s *server) remove(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.jobs, func(j *job) bool { return j.id == r.PathValue("id") })
	if at < 0 {
		refuse(w, http.StatusNotFound, "ResourceNotFound", "there is no such task")
		return
	}
	switch state, _ := s.state(*s.jobs[at]); state {
	case "queued":
		s.jobs[at].cancelled = true
	case "running":
		refuse(w, http.StatusConflict, "InvalidAction", "the task is running, and cannot be cancelled")
		return
	default:
		s.jobs = slices.Delete(s.jobs, at, at+1)
	}
	answer(w, http.StatusOK, map[string]any{})
}

// state is a quarter of the time in the queue, then progress until the end.
func (s *server) state(j job) (state string, percent int) {
	age, latency := s.clock().Sub(j.created), max(s.latency, 0)
	switch {
	case j.cancelled:
		return "cancelled", 0
	case age >= latency:
		return "succeeded", 100
	case age < latency/4:
		return "queued", 0
	}
	return "running", int((age - latency/4) * 100 / (latency - latency/4))
}

// show is how a job stands, in the words of Ark and with a progress that Ark does not have.
func (s *server) show(j job, host string) map[string]any {
	state, percent := s.state(j)
	shown := map[string]any{
		"id": j.id, "model": Model, "status": state, "progress": percent, "safety_identifier": j.fence,
		"created_at": j.created.Unix(), "updated_at": s.clock().Unix(), "seed": j.seed,
		"resolution": j.resolution, "ratio": j.aspect, "duration": j.seconds,
	}
	if state == "succeeded" {
		shown["content"] = map[string]any{"video_url": "http://" + host + "/films/" + j.id + ".mp4"}
		shown["usage"] = map[string]any{"completion_tokens": j.seconds * tokens, "total_tokens": j.seconds * tokens}
	}
	return shown
}

// film sends a film, or the range of it that is asked for.
func (s *server) film(w http.ResponseWriter, r *http.Request) {
	j, ok := s.find(w, strings.TrimSuffix(r.PathValue("name"), ".mp4"))
	if !ok {
		return
	}
	if state, _ := s.state(j); state != "succeeded" {
		refuse(w, http.StatusNotFound, "ResourceNotFound", "the task has no film: it is "+state)
		return
	}
	w.Header().Set("Content-Type", "video/mp4")
	http.ServeContent(w, r, "", j.created, bytes.NewReader(Film(j.prompt, j.seed, j.seconds, j.aspect)))
}

// refuse answers with an error as Ark has it.
func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]any{"code": code, "message": message, "type": http.StatusText(status)}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error here is a client that went away
}
