package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/client"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// slowly is an answer that is written word by word.
func slowly(text string, gap time.Duration) llmtest.Reply {
	return llmtest.Answer(text, llmtest.Usage{Input: 10, Output: 10}).Every(gap)
}

// followedText follows a task and puts its text together, as a page would.
type followedText struct {
	text     string
	parts    int
	restarts int
	done     task.Task
	err      error
}

func (s *stack) followText(id string) <-chan followedText {
	out := make(chan followedText, 1)
	ctx := s.soon()
	go func() {
		var r followedText
		r.done, r.err = s.client.WatchText(ctx, id, func(task.Task) {}, func(t task.Text) {
			if r.parts++; t.Offset == 0 {
				r.text = ""
			}
			if t.Restart {
				r.restarts++
			}
			if len(r.text) != t.Offset {
				r.err = fmt.Errorf("a part at %d after %d bytes", t.Offset, len(r.text))
			}
			r.text += t.Text
		})
		out <- r
	}()
	return out
}

// Readers see a summary grow while the model writes it, also those who come late; when its call is made again, they begin anew.
func TestLiveText_growsAndRestarts(t *testing.T) {
	s := newStack(t)
	const text = "The lamp was lit at dusk and burned all night above the quiet harbour until the keeper came down."
	cut := slowly("Once there was a lamp that nobody had lit", 300*time.Millisecond)
	cut.Parts = cut.Parts[:9]
	s.provider.On("[doc-000]", cut.Then(llmtest.Cut), slowly(text, 300*time.Millisecond))
	id := s.submit(notes(1))
	early := s.followText(id)
	require.NoError(t, s.provider.WaitFor(s.soon(), 2))
	time.Sleep(2 * time.Second)
	late := <-s.followText(id)
	first := <-early
	for who, r := range map[string]followedText{"early": first, "late": late} {
		require.NoError(t, r.err, who)
		require.Equal(t, task.Full, r.done.Outcome)
		require.True(t, strings.HasPrefix(text, r.text), "%s: %q", who, r.text)
		require.Greater(t, len(r.text), len(text)/2, who)
		require.Greater(t, r.parts, 2, who)
	}
	t.Logf("%d parts, %d restarts; late: %d parts", first.parts, first.restarts, late.parts)
	require.Equal(t, 1, first.restarts)
}

// A question's answer is shown as text, although the model writes JSON; an agent's turn is shown, too.
func TestLiveText_qaAndAgent(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if call.Inputs != nil {
			return wordVectors(call.Inputs)
		}
		if strings.Contains(call.Prompt, "citations:") {
			return slowly(`{"citations": [], "answer": "It was lit at dusk, as every day of that year, and nobody knows by whom.", "supported": false, "needs_everything": false}`, 250*time.Millisecond)
		}
		return slowly("I have looked at everything there is and found that the lamp was lit.", 250*time.Millisecond)
	})
	qa := s.followText(s.begin("qa", map[string]any{"documents": []map[string]any{{"text": "The lamp was lit at dusk."}}, "questions": []string{"When was the lamp lit?"}}, nil))
	agent := s.followText(s.begin("agent", map[string]any{"goal": "Find out about the lamp."}, nil))
	for what, out := range map[string]<-chan followedText{"It was lit at dusk, as": qa, "I have looked at": agent} {
		r := <-out
		require.NoError(t, r.err)
		require.True(t, strings.HasPrefix(r.text, what), "%q", r.text)
	}
}

// stream is a raw listener: what it was told, by id.
type rawStream struct {
	ids   []int64
	tasks []task.Task
	ended bool
	err   error
}

// listenOn listens until the stream ends, from the last id on, and gathers what it is told.
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

// PR-03 on the real thing: the API is killed and started again, and its listeners go on where they were: no state twice, none out of order,
// and the end is told to all.
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

// PR-06: over a killed worker and retries, progress never falls, is below 100 before the end, and adds up, whichever way it is read.
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
					require.Equal(t, before, *p, "two ways tell of revision %d differently", now.Revision)
				}
				same[now.Revision] = *p
			}
		}
		require.True(t, states[len(states)-1].Done, "way %d: %+v, %v", way, states[len(states)-1], r.err)
	}
	t.Logf("%d, %d and %d states", len(ways[0]), len(ways[1]), len(ways[2]))
}

// AP-02: a task is there once it is accepted, with no worker too; and what was done to it is seen by the next read.
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
		for range 3 { // so that it is watched
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

// DP-03 on the real thing: the API exits with 0 at once although fifty listen and fifty wait; one that is held by an upload exits at
// a second signal.
func TestStopAPI_endsStreamsAndLongPolls(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(llmtest.Forever) })
	id := s.submit(notes(1))
	ctx := s.soon()
	polls := make(chan int, 50)
	for range 50 {
		go s.listenOn(ctx, id, &rawStream{})
		go func() {
			status, _ := s.get("/v1/tasks/" + id + "?wait=60s&after_revision=1000000")
			polls <- status
		}()
	}
	time.Sleep(time.Second)
	began := time.Now()
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	<-s.api.end
	took := time.Since(began)
	require.Zero(t, s.api.cmd.ProcessState.ExitCode())
	for range 50 {
		require.Equal(t, http.StatusOK, <-polls)
	}
	require.Less(t, took, 15*time.Second)
	t.Logf("stopped after %s", took)

	s.api = s.start("api")
	s.waitReady()
	out, in := io.Pipe()
	defer func() { _ = in.Close() }()
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/v1/files?name=a.txt", out)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	_, err := in.Write([]byte("half"))
	require.NoError(t, err)
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	time.Sleep(300 * time.Millisecond)
	again := time.Now()
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	<-s.api.end
	require.Less(t, time.Since(again), 10*time.Second)
}
