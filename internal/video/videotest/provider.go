package videotest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"longhaul/internal/fakeserver"
)

// Options say what the provider is able to.
type Options struct {
	Forgets bool // it keeps no fences, so lists do not show them
	NoList  bool // it has no list of jobs
	PerPage int  // of a list at most; 0 is as many as asked for
}

// Provider is a running provider. Its methods are safe for concurrent use.
type Provider struct {
	fakeserver.Server
	fakeserver.Journal[Call, Counts]

	options Options
	scripts fakeserver.Scripts[Script]
	jobs    []*Job
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
	p := &Provider{options: options}
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
	if err := p.Listen(address, mux); err != nil {
		return nil, err
	}
	return p, nil
}

// URL is the base URL for a client of a dialect.
func (p *Provider) URL(dialect string) string {
	if dialect == ark.name {
		return "http://" + p.Host() + "/api/v3"
	}
	return "http://" + p.Host() + "/v1"
}

// On sets how the jobs go whose prompt holds the marker. Of several in a prompt the one set first counts; one
// that is set again is the new script for jobs that are still to be made.
func (p *Provider) On(marker string, script Script) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.scripts.Set(marker, script)
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
	p.Mu.Lock()
	defer p.Mu.Unlock()
	script, _, nth := p.scripts.Match(j.Prompt)
	reply := fakeserver.Nth(script.Start, nth)
	if j.script = script; !reply.Unmade {
		p.Sum.Jobs++
		j.ID = fmt.Sprintf("job-%d", p.Sum.Jobs)
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
	p.Mu.Lock()
	defer p.Mu.Unlock()
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
	j.step++
	step := j.script.step(j.step)
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
	p.Mu.Lock()
	defer p.Mu.Unlock()
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
