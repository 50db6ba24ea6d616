package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/client"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// rawStream is what a listener received from an event stream.
type rawStream struct {
	ids   []int64
	tasks []task.Task
	ended bool
	err   error
}

// listenOn listens until the stream ends, from the last received event id, and collects the events.
func (s *stack) listenOn(ctx context.Context, id string, r *rawStream) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/v1/tasks/"+id+"/events", nil)
	if err != nil {
		r.err = err
		return
	}
	req.Header.Set("Accept", "text/event-stream")
	if len(r.ids) > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(r.ids[len(r.ids)-1], 10))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.err = err
		return
	}
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		field, value, _ := strings.Cut(in.Text(), ": ")
		switch {
		case field == "id":
			n, _ := strconv.ParseInt(value, 10, 64)
			r.ids = append(r.ids, n)
		case in.Text() == "event: end":
			r.ended = true
		case field == "data" && strings.HasPrefix(value, `{"id"`):
			var t task.Task
			r.err = json.Unmarshal([]byte(value), &t)
			r.tasks = append(r.tasks, t)
		}
	}
}

// Listeners resume after the API is killed and restarted. They see no state twice or out of order, and all see the end.
func TestEvents_resumeAfterAPIKill(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 400 * time.Millisecond} })
	id := s.submit(notes(400))
	const listeners = 20
	streams := make([]rawStream, listeners)
	var all sync.WaitGroup
	ctx := s.soon()
	for i := range streams {
		all.Go(func() {
			for !streams[i].ended && ctx.Err() == nil {
				streams[i].err = nil
				s.listenOn(ctx, id, &streams[i])
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	for range 2 {
		time.Sleep(1200 * time.Millisecond)
		s.api.kill()
		s.api = s.start("api")
		s.waitReady()
	}
	all.Wait()
	for _, r := range streams {
		require.True(t, r.ended)
		for i := 1; i < len(r.ids); i++ {
			require.Greater(t, r.ids[i], r.ids[i-1])
		}
		last := r.tasks[len(r.tasks)-1]
		require.Equal(t, task.Full, last.Outcome)
		require.Equal(t, last.Revision, r.ids[len(r.ids)-1])
	}
	t.Logf("%d states each, two kills", len(streams[0].ids))
}

// Despite a killed worker and retries, progress never falls, is below 100 before the end, and adds up, over polling, long
// polling and events.
func TestProgress_neverFalls(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=10")
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if call.Number%9 == 0 {
			return llmtest.Fail(http.StatusInternalServerError, "oops")
		}
		return llmtest.Reply{}.After(200 * time.Millisecond)
	})
	id := s.submit(notes(100))
	var ways [3][]task.Task
	var r rawStream
	var all sync.WaitGroup
	ctx := s.soon()
	all.Go(func() {
		for done := false; !done && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
			if now, err := s.client.Get(ctx, id); err == nil {
				ways[0], done = append(ways[0], now), now.Done
			}
		}
	})
	all.Go(func() {
		for revision, done := int64(0), false; !done && ctx.Err() == nil; {
			var now task.Task
			if _, body := s.get(fmt.Sprintf("/v1/tasks/%s?wait=5s&after_revision=%d", id, revision)); json.Unmarshal([]byte(body), &now) == nil {
				ways[1], revision, done = append(ways[1], now), now.Revision, now.Done
			}
		}
	})
	all.Go(func() {
		s.listenOn(ctx, id, &r)
		ways[2] = r.tasks
	})
	require.NoError(t, s.provider.WaitFor(s.soon(), 45))
	s.worker.kill()
	s.worker = s.start("worker")
	all.Wait()
	same := map[int64]int{}
	for way, states := range ways {
		require.NotEmpty(t, states)
		percent, revision := -1, int64(0)
		for _, now := range states {
			require.GreaterOrEqual(t, now.Revision, revision, "way %d", way)
			revision = now.Revision
			if c := now.Progress.Counts; c.Total > 0 {
				require.Equal(t, c.Total, c.Succeeded+c.Failed+c.Cancelled+c.Running+c.Pending)
			}
			if p := now.Progress.Percent; p != nil {
				require.GreaterOrEqual(t, *p, percent, "way %d", way)
				require.True(t, now.Done || *p <= 99)
				percent = *p
				if before, told := same[now.Revision]; told {
					require.Equal(t, before, *p, "different progress for revision %d", now.Revision)
				}
				same[now.Revision] = *p
			}
		}
		require.True(t, states[len(states)-1].Done, "way %d: %+v, %v", way, states[len(states)-1], r.err)
	}
	t.Logf("%d, %d and %d states", len(ways[0]), len(ways[1]), len(ways[2]))
}

// A task can be read and listed as soon as it is accepted, even without a worker, and the next read shows a cancel.
func TestRead_seesOwnWrites(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(llmtest.Forever) })
	s.worker.kill()
	for range 20 {
		id := s.submit(notes(1))
		now, err := s.client.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, task.Pending, now.Status)
		require.Eventually(t, func() bool {
			page, err := s.client.List(t.Context(), client.Filter{Status: task.Pending, Limit: 100})
			for _, listed := range page.Data {
				if listed.ID == id {
					return err == nil
				}
			}
			return false
		}, 30*time.Second, 10*time.Millisecond)
		for range 3 { // repeated reads make the API watch the task
			_, err := s.client.Get(t.Context(), id)
			require.NoError(t, err)
		}
		_, err = s.client.Cancel(t.Context(), id)
		require.NoError(t, err)
		now, err = s.client.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, task.Cancelling, now.Status)
	}
	s.worker = s.start("worker")
	require.Eventually(t, func() bool {
		page, err := s.client.List(t.Context(), client.Filter{Limit: 100})
		if err != nil {
			return false
		}
		for _, listed := range page.Data {
			now, err := s.client.Get(t.Context(), listed.ID)
			if err != nil || !now.Done {
				return false
			}
		}
		return len(page.Data) == 20
	}, time.Minute, 100*time.Millisecond)
}
