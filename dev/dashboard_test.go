package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// What the dashboard lists is in Temporal: after the API was killed it counts the same tasks in the same states.
func TestDA01_dashboardSurvivesRestart(t *testing.T) {
	s := newStack(t)
	for range 8 {
		s.finish(s.begin("summary", task.SummaryInput{Documents: []task.Document{{Text: "The harbour was rebuilt in 1911."}}}, nil))
	}
	s.begin("summary", notes(1), map[string]any{"delay": "1h"})
	before := s.countByState()
	require.Equal(t, map[string]int{"succeeded": 8, "scheduled": 1}, before)
	s.api.kill()
	s.api = s.start("api")
	s.waitReady()
	require.Equal(t, before, s.countByState())
	for _, page := range []string{"/", "/tasks/anything", "/new/qa", "/dead-letters", "/system", "/ui/app.js"} {
		status, _ := s.get(page)
		require.Equal(t, http.StatusOK, status, page)
	}
}

// countByState walks the list in small pages, as the dashboard does.
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
