package videotest

import (
	"net/http"
	"strconv"

	"longhaul/internal/fakeserver"
)

// list shows the jobs, newest first, in pages where the dialect has them.
func (p *Provider) list(w http.ResponseWriter, r *http.Request, d dialect) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.note(Call{Kind: "list", Dialect: d.name, Query: r.URL.RawQuery, Header: r.Header})
	if p.options.NoList {
		Refuse(http.StatusNotFound, "", "there is no such page").write(w, r)
		return
	}
	page, size := p.page(r)
	items := []any{}
	for n := len(p.jobs) - 1 - (page-1)*size; n >= 0 && len(items) < size; n-- {
		items = append(items, p.item(p.jobs[n], d, r.Host))
	}
	if d.name == ark.name {
		answer(w, map[string]any{"total": len(p.jobs), "items": items})
		return
	}
	answer(w, map[string]any{"object": "list", "data": items, "has_more": len(p.jobs) > page*size})
}

// page is which part of a list is asked for.
func (p *Provider) page(r *http.Request) (page, size int) {
	page, _ = strconv.Atoi(r.URL.Query().Get("page_num"))
	size, _ = strconv.Atoi(r.URL.Query().Get("page_size") + r.URL.Query().Get("limit"))
	if p.options.PerPage > 0 {
		size = min(size, p.options.PerPage)
	}
	return max(page, 1), max(size, 1)
}

// item is a job in a list. The lock is held.
func (p *Provider) item(j *Job, d dialect, host string) map[string]any {
	state := j.Told
	if state == "" {
		state = "queued"
	}
	item := d.tell(j, Step{State: state}, host)
	switch {
	case p.options.Forgets || j.Fence == "":
	case d.name == ark.name:
		item["safety_identifier"] = j.Fence
	default:
		item["metadata"] = map[string]any{"longhaul_fence": j.Fence}
	}
	return item
}

// content sends the video of a job.
func (p *Provider) content(w http.ResponseWriter, r *http.Request) {
	reply, film := p.fetch(r)
	if reply.write(w, r) {
		return
	}
	w.Header().Set("Content-Type", "video/mp4")
	w.Header().Set("Content-Length", strconv.Itoa(len(film)))
	if !reply.HalfWay {
		_, _ = w.Write(film)
		return
	}
	_, _ = w.Write(film[:len(film)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler) // net/http closes the connection in the middle of the body
}

func (p *Provider) fetch(r *http.Request) (Reply, []byte) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	id := r.PathValue("id")
	p.note(Call{Kind: "content", Job: id, Query: r.URL.RawQuery, Header: r.Header})
	j := p.find(id)
	if j == nil {
		return missing(), nil
	}
	j.Downloads++
	return fakeserver.Nth(j.script.Content, j.Downloads), Film(j.Prompt)
}
