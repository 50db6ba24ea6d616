package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/browsertest"
	"longhaul/internal/task"
)

// After a kill of the API the dashboard counts the same tasks in the same states, because they are stored in Temporal.
func TestDashboard_survivesRestart(t *testing.T) {
	s := newStack(t)
	for range 8 {
		s.finish(s.begin("summary", task.SummaryInput{Documents: []task.Document{{Text: "The harbour was rebuilt in 1911."}}}, nil))
	}
	s.begin("summary", notes(1), map[string]any{"delay": "1h"})
	before := map[string]int{"succeeded": 8, "scheduled": 1}
	require.Eventually(t, func() bool { return maps.Equal(before, s.countByState()) }, time.Minute, 100*time.Millisecond, "the list lags behind the tasks")
	s.api.kill()
	s.api = s.start("api")
	s.waitReady()
	require.Equal(t, before, s.countByState())
	for _, page := range []string{"/", "/tasks/anything", "/new/qa", "/dead-letters", "/system", "/ui/app.js"} {
		status, _ := s.get(page)
		require.Equal(t, http.StatusOK, status, page)
	}
}

// countByState reads the list in small pages, as the dashboard does, and counts the tasks in each state.
func (s *stack) countByState() map[string]int {
	s.t.Helper()
	states := map[string]int{}
	for cursor := new(""); cursor != nil; {
		status, answer := s.get("/v1/tasks?limit=3&cursor=" + url.QueryEscape(*cursor))
		require.Equal(s.t, http.StatusOK, status, answer)
		var page task.Page[task.Task]
		require.NoError(s.t, json.Unmarshal([]byte(answer), &page))
		for _, t := range page.Data {
			states[string(t.Status)]++
		}
		cursor = page.NextCursor
	}
	return states
}

// A task of each kind runs in the browser, from the example in its form to its result.
func TestDashboard_everyKind(t *testing.T) {
	s := newStack(t, simulated...)
	w := s.openDashboard()
	var kinds task.Page[task.KindInfo]
	_, answer := s.get("/v1/kinds")
	require.NoError(t, json.Unmarshal([]byte(answer), &kinds))
	ran := 0
	for _, kind := range kinds.Data {
		if kind.Name == "replay" { // TestDashboard_everyAction replays a task
			continue
		}
		ran++
		w.Visit("/new/" + kind.Name)
		w.Click("#example")
		w.Click("#submit")
		w.Until("document.querySelector('#task-id')")
		w.UntilWithin(2*time.Minute, "document.querySelector('.standing .state.succeeded')")
		require.Equal(t, task.Succeeded, s.finish(w.Text("#task-id")).Status, kind.Name)
	}
	w.Visit("/")
	w.Until(fmt.Sprintf("document.querySelectorAll('tbody tr .state.succeeded').length === %d", ran))
	w.Until(fmt.Sprintf("document.querySelectorAll('tbody tr .headline').length === %d", ran))
	require.Contains(t, w.Text("tbody"), "Summarise note")
	w.Visit("/system")
	w.Until("document.querySelectorAll('#workers tbody tr').length === 1")
}

// In the browser a user uploads a file, cancels a task, approves a tool call, and replays a dead letter.
func TestDashboard_everyAction(t *testing.T) {
	s := newStack(t, simulated...)
	w := s.openDashboard()
	t.Run("drops a file, and stops what was begun", func(t *testing.T) { w.dropAndStop(s) })
	t.Run("approves a call", func(t *testing.T) { w.approve(s) })
	t.Run("runs a dead letter again", func(t *testing.T) { w.replay(s) })
}

// simulated are the settings of a stack without a provider.
var simulated = []string{"LONGHAUL_LLM_BASE_URL=", "LONGHAUL_LLM_KEY=", "LONGHAUL_FETCH_ALLOW_PRIVATE=127.0.0.1", "LONGHAUL_TOOLS_ALLOW_PRIVATE=127.0.0.1"}

// dashboard is the dashboard of a stack in a browser window.
type dashboard struct{ *browsertest.Window }

func (s *stack) openDashboard() dashboard {
	s.t.Helper()
	t, ok := s.t.(*testing.T)
	require.True(s.t, ok, "benchmarks have no browser")
	return dashboard{browsertest.Open(t, browsertest.Start(t, nil), "http://"+s.address, 8*time.Minute)}
}

func (w dashboard) dropAndStop(s *stack) {
	w.Visit("/new/summary")
	w.Drop(".drop", "港.txt", strings.Repeat("The harbour was rebuilt in 1911. ", 50))
	w.Until("document.querySelectorAll('li.entry').length === 1")
	w.Fill("[name=delay]", "1h")
	w.Click("#submit")
	w.Until("document.querySelector('.standing .state.scheduled')")
	w.Click("#cancel")
	w.Until("document.querySelector('.standing .state.cancelled')")
	require.Equal(w.T, task.Cancelled, s.finish(w.Text("#task-id")).Status)
}

func (w dashboard) approve(s *stack) {
	tools := newToolServer(w.T)
	id := s.submitAgent(task.AgentInput{Goal: "book a room in Lima", Tools: []task.ToolSpec{tools.tool("book", http.MethodPost, task.Always)}})
	w.Visit("/tasks/" + id)
	w.Until("document.querySelector('.ask')")
	require.Empty(w.T, tools.requests(), "no call before the approval")
	w.Click(".ask button.main")
	w.UntilWithin(time.Minute, "document.querySelector('.standing .state.succeeded')")
	require.Len(w.T, tools.requests(), 1)
}

func (w dashboard) replay(s *stack) {
	var published atomic.Bool
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !published.Load() {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "The harbour was rebuilt in 1911.")
	}))
	w.T.Cleanup(archive.Close)
	id := s.submit(task.SummaryInput{Documents: []task.Document{{URL: archive.URL + "/harbour.txt"}}})
	require.Equal(w.T, task.Failed, s.finish(id).Status)
	published.Store(true)
	w.Visit("/dead-letters")
	w.Until("document.querySelectorAll('article').length === 1")
	require.Contains(w.T, w.Text("article"), "did not return the documents")
	w.Visit("/tasks/" + id)
	w.Click("#replay")
	w.Click("#replay-send")
	w.UntilWithin(time.Minute, "document.querySelector('.standing .state.succeeded')")
	require.Equal(w.T, id, s.finish(w.Text("#task-id")).ReplayOf)
	w.Visit("/dead-letters")
	w.Until("document.querySelector('.empty')")
}
