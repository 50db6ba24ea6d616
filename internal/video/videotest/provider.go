package videotest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options say what the provider is able to.
type Options struct {
	Forgets bool // it keeps no fences, so lists do not show them
	NoList  bool // it has no list of jobs
	PerPage int  // of a list at most; 0 is as many as asked for
}

// Provider is a running provider. Its methods are safe for concurrent use.
type Provider struct {
	options  Options
	server   *http.Server
	listener net.Listener

	mu      sync.Mutex
	rules   []rule
	starts  map[string]int // by marker
	jobs    []*Job
	calls   []Call
	counts  Counts
	changed chan struct{} // closed at every change of the journal
}

// rule is the script of the jobs whose prompt holds a marker.
type rule struct {
	marker string
	script Script
}

// New starts a provider on loopback that ends with the test.
func New(t testing.TB, options Options) *Provider {
	t.Helper()
	p, err := Start("127.0.0.1:0", options)
	if err != nil {
		t.Fatalf("start the scripted provider: %v", err)
	}
	t.Cleanup(p.Close)
	return p
}

// Start starts a provider at an address such as 127.0.0.1:0. Close ends it.
func Start(address string, options Options) (*Provider, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &Provider{options: options, listener: listener, starts: map[string]int{}, changed: make(chan struct{})}
	mux := http.NewServeMux()
	for path, d := range map[string]dialect{"/api/v3/contents/generations/tasks": ark, "/v1/videos": videos, "/v1/video/generations": newapi} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { p.start(w, r, d) })
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { p.list(w, r, d) })
		mux.HandleFunc("GET "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) { p.poll(w, r, d) })
		mux.HandleFunc("DELETE "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) { p.remove(w, r, d) })
	}
	mux.HandleFunc("POST /v1/videos/generations", func(w http.ResponseWriter, r *http.Request) { p.start(w, r, xai) })
	mux.HandleFunc("GET /v1/videos/{id}/content", p.content)
	mux.HandleFunc("GET /files/{id}", p.content)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	return p, nil
}

// Host is where it listens.
func (p *Provider) Host() string { return p.listener.Addr().String() }

// URL is the base URL for a client of a dialect.
func (p *Provider) URL(dialect string) string {
	if dialect == ark.name {
		return "http://" + p.Host() + "/api/v3"
	}
	return "http://" + p.Host() + "/v1"
}

// Close ends the provider and every connection to it at once.
func (p *Provider) Close() { _ = p.server.Close() }

// On sets how the jobs go whose prompt holds the marker. Of several in a prompt the one set first counts; one
// that is set again is the new script for jobs that are still to be made.
func (p *Provider) On(marker string, script Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts[marker] = 0
	for i, r := range p.rules {
		if r.marker == marker {
			p.rules[i].script = script
			return
		}
	}
	p.rules = append(p.rules, rule{marker, script})
}

// match gives the script of a prompt, and the reply to this start of it. The lock is held.
func (p *Provider) match(prompt string) (Script, Reply) {
	for _, r := range p.rules {
		if strings.Contains(prompt, r.marker) {
			p.starts[r.marker]++
			return r.script, nth(r.script.Start, p.starts[r.marker]-1)
		}
	}
	return Script{}, Reply{}
}

// asked is what a start asks for, in any of the dialects.
type asked struct {
	Model, Prompt string
	Content       []struct{ Text string }
	Safety        string `json:"safety_identifier"`
	Metadata      struct {
		Fence string `json:"longhaul_fence"`
	}
}

func (p *Provider) start(w http.ResponseWriter, r *http.Request, d dialect) {
	body, err := io.ReadAll(r.Body)
	var a asked
	if err != nil || json.Unmarshal(body, &a) != nil {
		Refuse(http.StatusBadRequest, "InvalidParameter", "the request cannot be read").write(w, r)
		return
	}
	for _, part := range a.Content {
		a.Prompt += part.Text
	}
	j := &Job{Model: a.Model, Prompt: a.Prompt, Fence: a.Safety + a.Metadata.Fence, Created: time.Now()}
	reply := p.make(j, Call{Kind: "start", Dialect: d.name, Prompt: j.Prompt, Fence: j.Fence, Body: body, Header: r.Header})
	if !reply.write(w, r) {
		answer(w, d.start(j))
	}
}

// make notes a start, and makes its job unless that is not to be.
func (p *Provider) make(j *Job, call Call) Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	script, reply := p.match(j.Prompt)
	if j.script = script; !reply.Unmade {
		p.counts.Jobs++
		j.ID = fmt.Sprintf("job-%d", p.counts.Jobs)
		call.Job = j.ID
		p.jobs = append(p.jobs, j)
	}
	p.note(call)
	return reply
}

// find gives a job. The lock is held.
func (p *Provider) find(id string) *Job {
	for _, j := range p.jobs {
		if j.ID == id && !j.deleted {
			return j
		}
	}
	return nil
}

func missing() Reply {
	return Refuse(http.StatusNotFound, "ResourceNotFound", "there is no such job")
}

func (p *Provider) poll(w http.ResponseWriter, r *http.Request, d dialect) {
	reply, body := p.next(r, d)
	if !reply.write(w, r) {
		answer(w, body)
	}
}

// next notes a poll and gives its answer; the job goes a step on.
func (p *Provider) next(r *http.Request, d dialect) (Reply, map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.PathValue("id")
	p.note(Call{Kind: "poll", Dialect: d.name, Job: id, Header: r.Header})
	j := p.find(id)
	if j == nil {
		return missing(), nil
	}
	j.Polls++
	if j.Told == "cancelled" {
		return Reply{}, d.tell(j, Say("cancelled"), r.Host)
	}
	step := j.script.step(j.step)
	j.step++
	if step.Reply.Status == 0 && !step.Reply.Lost {
		j.Told = step.State
	}
	return step.Reply, d.tell(j, step, r.Host)
}

// remove does as Ark does: it ends what waits, removes what is over, and refuses in between.
func (p *Provider) remove(w http.ResponseWriter, r *http.Request, d dialect) {
	reply := p.drop(r, d)
	if !reply.write(w, r) {
		answer(w, map[string]any{})
	}
}

func (p *Provider) drop(r *http.Request, d dialect) Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.PathValue("id")
	p.note(Call{Kind: "delete", Dialect: d.name, Job: id, Header: r.Header})
	j := p.find(id)
	switch {
	case j == nil:
		return missing()
	case !j.script.Delete.zero():
		return j.script.Delete
	case j.Told == "" || j.Told == "queued":
		j.Told = "cancelled"
	case over(j.Told):
		j.deleted = true
	default:
		return Refuse(http.StatusConflict, "InvalidAction", "the job is running")
	}
	return Reply{}
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // an error here is a client that went away
}
