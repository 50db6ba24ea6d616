package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// stub stands in front of an API and answers for rooms that a test does not have: the streams of events, dead
// letters, the system. What it is asked there is kept.
type stub struct {
	api http.Handler

	mu     sync.Mutex
	canned map[string]string         // answers, by method and path
	more   map[string]map[string]any // what a task has beside its own, by id
	texts  map[string][]string       // frames of text on the stream of a task, by id
	cut    bool                      // there are no streams
	half   chan string               // if there is one, no answer but a stream ends: half of it is sent, and its path here
	breaks bool                      // what is sent half breaks off there
	heard  map[string][]string       // bodies that came, by method and path
}

func (s *stub) can(route, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canned == nil {
		s.canned = map[string]string{}
	}
	s.canned[route] = answer
}

// add gives a task fields, or addresses under "urls", beside its own.
func (s *stub) add(id string, more map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more == nil {
		s.more = map[string]map[string]any{}
	}
	s.more[id] = more
}

func (s *stub) write(id string, frames ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string][]string{}
	}
	s.texts[id] = append(s.texts[id], frames...)
}

func (s *stub) bodies(route string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[route]
}

func (s *stub) answer(route string, body io.Reader) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, ok := s.canned[route]
	if ok {
		text, _ := io.ReadAll(body)
		if s.heard == nil {
			s.heard = map[string][]string{}
		}
		s.heard[route] = append(s.heard[route], string(text))
	}
	return answer, ok
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.half != nil && strings.HasPrefix(r.URL.Path, "/v1/") && !strings.HasSuffix(r.URL.Path, "/events") {
		s.sendHalf(w, r)
		return
	}
	if answer, ok := s.answer(r.Method+" "+r.URL.Path, r.Body); ok {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
		}
		_, _ = io.WriteString(w, answer)
		return
	}
	id, one := strings.CutPrefix(r.URL.Path, "/v1/tasks/")
	switch {
	case s.cut && strings.HasSuffix(r.URL.Path, "/events"):
		http.NotFound(w, r)
	case r.URL.Path == "/v1/events":
		s.stream(w, r, "/v1/tasks?limit=100", "")
	case one && strings.HasSuffix(id, "/events"):
		id = strings.TrimSuffix(id, "/events")
		s.stream(w, r, "/v1/tasks/"+id, id)
	case one && r.Method == http.MethodGet && !strings.Contains(id, "/") && r.URL.Query().Get("wait") == "":
		status, tasks := s.look(r, r.URL.Path)
		if len(tasks) == 1 && status == http.StatusOK {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(tasks[0])
			return
		}
		fallthrough
	default:
		s.api.ServeHTTP(w, r)
	}
}

// sendHalf begins an answer. It breaks off there, or comes no further until nobody wants it any more.
func (s *stub) sendHalf(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[`)
	_ = http.NewResponseController(w).Flush()
	if s.breaks {
		panic(http.ErrAbortHandler)
	}
	s.half <- r.URL.Path
	<-r.Context().Done()
}

// look reads tasks from the API with the key of a request, and adds to them.
func (s *stub) look(r *http.Request, path string) (int, []json.RawMessage) {
	inner := httptest.NewRequestWithContext(r.Context(), http.MethodGet, path, http.NoBody)
	inner.Host, inner.Header = r.Host, http.Header{"Authorization": r.Header.Values("Authorization")}
	got := httptest.NewRecorder()
	s.api.ServeHTTP(got, inner)
	var page struct {
		Object string
		Data   []json.RawMessage
	}
	_ = json.Unmarshal(got.Body.Bytes(), &page)
	if page.Object == "task" {
		page.Data = []json.RawMessage{bytes.TrimSpace(got.Body.Bytes())}
	}
	for i, t := range page.Data {
		page.Data[i] = s.added(t)
	}
	return got.Code, page.Data
}

// added is a task with what it has beside its own, or the very same bytes if that is nothing.
func (s *stub) added(own json.RawMessage) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := s.more[idOf(own)]
	if len(more) == 0 {
		return own
	}
	var t map[string]any
	_ = json.Unmarshal(own, &t)
	for key, value := range more {
		if urls, ok := value.(map[string]any); ok && key == "urls" {
			own, _ := t["urls"].(map[string]any)
			maps.Copy(own, urls)
			continue
		}
		t[key] = value
	}
	text, _ := json.Marshal(t)
	return text
}

func idOf(t json.RawMessage) string {
	var named struct{ ID string }
	_ = json.Unmarshal(t, &named)
	return named.ID
}

// stream sends every task at a path whenever it changes, and the texts of one.
func (s *stub) stream(w http.ResponseWriter, r *http.Request, path, id string) {
	status, _ := s.look(r, path)
	if status != http.StatusOK {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sent := map[string]string{}
	written := 0
	for r.Context().Err() == nil {
		_, tasks := s.look(r, path)
		for _, t := range tasks {
			if id := idOf(t); sent[id] != string(t) {
				sent[id] = string(t)
				_, _ = fmt.Fprintf(w, "event: task\nid: 1\ndata: %s\n\n", t)
			}
		}
		s.mu.Lock()
		for _, frame := range s.texts[id][written:] {
			_, _ = fmt.Fprintf(w, "event: text\ndata: %s\n\n", frame)
			written++
		}
		s.mu.Unlock()
		_ = http.NewResponseController(w).Flush()
		time.Sleep(20 * time.Millisecond)
	}
}
