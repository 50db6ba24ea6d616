package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// submit starts a summary task and returns its id.
func (s *stack) submit(in task.SummaryInput) string { return s.begin("summary", in, nil) }

// begin starts a task and returns its id. more holds further fields of the request, or is nil.
func (s *stack) begin(kind string, input any, more map[string]any) string {
	s.t.Helper()
	order := map[string]any{"kind": kind, "input": input}
	maps.Copy(order, more)
	body, err := json.Marshal(order)
	require.NoError(s.t, err)
	status, answer := s.post("/v1/tasks", string(body))
	require.Equal(s.t, http.StatusAccepted, status, answer)
	var t task.Task
	require.NoError(s.t, json.Unmarshal([]byte(answer), &t))
	return t.ID
}

// finish waits for the end of a task.
func (s *stack) finish(id string) task.Task {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	done, err := s.client.Watch(ctx, id, func(task.Task) {})
	require.NoError(s.t, err)
	return done
}

// pollUntilDone reads a task until it ends, and ignores failed requests.
func (s *stack) pollUntilDone(id string) (t task.Task) {
	require.Eventually(s.t, func() bool {
		_, body := s.get("/v1/tasks/" + id)
		return json.Unmarshal([]byte(body), &t) == nil && t.Done
	}, 2*time.Minute, 100*time.Millisecond)
	return t
}

// waitTask reads a task until it meets a condition, and returns it.
func (s *stack) waitTask(id string, wanted func(task.Task) bool, what string) (t task.Task) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		now, err := s.client.Get(s.t.Context(), id)
		if err == nil {
			t = now
		}
		return err == nil && wanted(now)
	}, 90*time.Second, 100*time.Millisecond, what)
	return t
}

// waitIdle waits until no call is in flight, and returns the number of calls made so far.
func (s *stack) waitIdle() int {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		c := s.provider.Counts()
		return c.Total == c.Answered+c.Gone
	}, 30*time.Second, 50*time.Millisecond, "calls in flight finish")
	return s.provider.Counts().Total
}

// everyItem reads all items of a task.
func (s *stack) everyItem(id string) []task.Item {
	s.t.Helper()
	items, err := s.client.Items(s.soon(), id, "")
	require.NoError(s.t, err)
	return items
}

func (s *stack) countItems(id, status string) int {
	code, body := s.get("/v1/tasks/" + id + "/items?limit=100&status=" + status)
	require.Equal(s.t, http.StatusOK, code, body)
	var page task.Page[task.Item]
	require.NoError(s.t, json.Unmarshal([]byte(body), &page))
	return len(page.Data)
}

// requireAttempts checks that the attempts of a task's items add up to the number of calls, and returns the items.
func (s *stack) requireAttempts(id string, calls int) []task.Item {
	s.t.Helper()
	items, sum := s.everyItem(id), 0
	for _, item := range items {
		sum += item.Attempts
		if item.Error != nil {
			require.Equal(s.t, item.Attempts, item.Error.Attempts, "%s", item.Name)
		}
	}
	require.Equal(s.t, calls, sum, "attempts equal calls")
	return items
}

// notes returns n short documents with the markers [doc-000], [doc-001] and so on.
func notes(n int) task.SummaryInput {
	in := task.SummaryInput{}
	for i := range n {
		in.Documents = append(in.Documents, task.Document{
			Name: fmt.Sprintf("note-%d", i), Text: fmt.Sprintf("Report [doc-%03d]. The bridge was inspected and found sound.", i),
		})
	}
	return in
}

// story returns a text of about the given number of words, in which no two paragraphs are equal.
func story(words int) string {
	var b strings.Builder
	for i := 0; i < words; i += 22 {
		fmt.Fprintf(&b, "On day %d the keeper climbed the stairs at dusk, counted %d ships upon the water, and lit the lamp above the sea.\n\n", i, i*7%13)
	}
	return b.String()
}
