package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
)

var cancels = flag.Int("cancels", 14, "how many tasks the tests of cancels cancel, each at another moment")

const (
	callsAtOnce = 6   // of the worker
	callTokens  = 100 // that every answer of the provider says it used
)

// moments is a stack on which tasks of every kind are cancelled, each at a random moment, while they go on in new runs.
type moments struct {
	*stack
	videos *videotest.Provider
	all    []*moment
}

// moment is one of the tasks.
type moment struct {
	*moments
	n     int
	after time.Duration // its submission it is cancelled
	id    string
	last  task.Task
	asked time.Time // when it was cancelled
	ended time.Time // when it was first seen to have ended
}

func newMoments(t *testing.T) *moments {
	s, videos := newVideoStack(t, temporalOptions{HistoryEvents: 60},
		fmt.Sprintf("LONGHAUL_WORKER_LLM_CONCURRENCY=%d", callsAtOnce), "LONGHAUL_LLM_EMBEDDING_MODEL=vectors")
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		return flat(call).After(time.Duration(50+hashOf(call.Hash)%200) * time.Millisecond)
	})
	return &moments{stack: s, videos: videos}
}

// A task of any kind that is cancelled at any moment ends as cancelled, and no call begins after its end. It says that it cost what the providers
// told, and counts each call that the cancel cut off.
func TestCancel_atAnyMoment(t *testing.T) {
	m := newMoments(t)
	m.cancelAll()
	m.check()
	var calls, told, cut int
	for _, one := range m.all {
		c, a, u := one.costs()
		calls, told, cut = calls+c, told+a, cut+u
	}
	t.Logf("%d calls: %d answered, %d cut off by a cancel", calls, told, cut)
}

// CA-05: likewise while workers are killed. Readers see each task go forward only, from cancelling to cancelled.
func TestCA05_cancelledWhileWorkersAreKilled(t *testing.T) {
	m := newMoments(t)
	spare := m.start("worker")
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Second):
			}
			m.worker.kill()
			m.worker, spare = spare, m.start("worker")
		}
	}()
	defer func() { close(stop); <-over }()
	m.cancelAll()
	m.check()
}

// cancelAll starts the tasks, and cancels them.
func (ms *moments) cancelAll() {
	all, ctx := errgroup.WithContext(ms.t.Context())
	all.SetLimit(callsAtOnce)
	for n := range *cancels {
		m := &moment{moments: ms, n: n, after: time.Duration(rand.IntN(3000)) * time.Millisecond}
		ms.all = append(ms.all, m)
		all.Go(func() error { return m.live(ctx) })
	}
	require.NoError(ms.t, all.Wait())
}

func (m *moment) mark() string { return fmt.Sprintf("[k-%03d]", m.n) }

// order is a task that has much to do.
func (m *moment) order() (kind string, input any) {
	rows := func(n int) (all []any) {
		for i := range n {
			all = append(all, map[string]any{"text": fmt.Sprintf("%s row %d", m.mark(), i)})
		}
		return all
	}
	kinds := []string{"summary", "generate", "agent", "classify", "embed", "qa", "video"}
	switch kind = kinds[m.n%len(kinds)]; kind {
	case "summary":
		in := notes(60)
		for i := range in.Documents {
			in.Documents[i].Text = m.mark() + in.Documents[i].Text
		}
		return kind, in
	case "generate":
		return kind, map[string]any{"rows": rows(150), "template": "About {{text}}"}
	case "classify":
		return kind, map[string]any{"rows": rows(300), "labels": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}, "pack": 4}
	case "embed":
		return kind, map[string]any{"rows": rows(2000)}
	case "qa":
		in := task.QAInput{Documents: []task.Document{{Text: strings.ReplaceAll(story(6000), "On day", m.mark()+" On day")}}}
		for i := range 60 {
			in.Questions = append(in.Questions, fmt.Sprintf("%s Who lit the lamp on day %d?", m.mark(), 22*i))
		}
		return kind, in
	case "video":
		in := task.VideoInput{Seconds: 5}
		for i := range 12 {
			in.Prompts = append(in.Prompts, fmt.Sprintf("%s wave %d", m.mark(), i))
		}
		return kind, in
	default:
		return kind, task.AgentInput{Goal: "go on with " + m.mark(), Tools: []task.ToolSpec{{Builtin: "calculator"}}, MaxSteps: 500, MaxToolCalls: 1000}
	}
}

// flat is a good answer that says that it used as much as any other.
func flat(call llmtest.Call) llmtest.Reply {
	used := llmtest.Usage{Input: callTokens - 10, Output: 10}
	switch {
	case call.Inputs != nil:
		items := make([]string, len(call.Inputs))
		for i, text := range call.Inputs {
			items[i] = llmtest.Item(i, llmtest.Base64(llmtest.Vector(text, 8)))
		}
		return llmtest.Embeddings(callTokens, items...)
	case len(call.Tools) > 0:
		return llmtest.ToolCalls(used, llmtest.ToolCall{
			Name: "calculator", Arguments: fmt.Sprintf(`{"expression":"1+%d"}`, strings.Count(string(call.Body), `"role":"assistant"`)),
		})
	case strings.Contains(call.Prompt, "<text name="):
		return llmtest.Answer(labelled(call), used)
	case llmtest.Asked(call.Prompt) != "":
		answer, err := json.Marshal(llmtest.Cite(call.Prompt, "keeper"))
		if err != nil {
			panic(err) // strings and numbers always marshal
		}
		return llmtest.Answer(string(answer), used)
	default:
		return llmtest.Answer("All was well: "+call.Hash, used)
	}
}

// labelled gives every text of a call the label a.
func labelled(call llmtest.Call) string {
	lines := make([]string, strings.Count(call.Prompt, "<text name="))
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"number":%d,"labels":["a"],"confidence":0.9}`, i+1)
	}
	return `{"results":[` + strings.Join(lines, ",") + `]}`
}

// live starts the task, cancels it, and reads it all the while.
func (m *moment) live(ctx context.Context) error {
	kind, input := m.order()
	m.id = m.begin(kind, input, nil)
	cancelled, saga := time.Now().Add(m.after), saga{id: m.id}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		now, err := m.client.Get(ctx, m.id)
		if err != nil {
			return err
		}
		if err := saga.next(now); err != nil {
			return err
		}
		if now.Done {
			m.last, m.ended = now, time.Now()
			return nil
		}
		if m.asked.IsZero() && time.Now().After(cancelled) {
			m.asked = time.Now()
			if _, err := m.client.Cancel(ctx, m.id); err != nil {
				return err
			}
		}
		if err := nap(ctx, 30*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s, a task of the kind %s, cancelled after %s, has not ended: %+v", m.id, kind, m.after, saga.seen)
}

// check looks at the tasks some time after their end.
func (ms *moments) check() {
	var took []time.Duration
	after := map[task.State]int{}
	for _, m := range ms.all {
		after[m.last.Status]++
		m.stays()
		m.adds()
		if m.last.Status == task.Cancelled {
			took = append(took, m.ended.Sub(m.asked))
		}
	}
	slices.Sort(took)
	require.NotEmpty(ms.t, took)
	ms.t.Logf("%d tasks ended as %v; those that were cancelled %.1f s after it in the median, %.1f s at most",
		len(ms.all), after, took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
}

// stays checks that the task is what it was when it ended, and that no call began later.
func (m *moment) stays() {
	now, err := m.client.Get(m.soon(), m.id)
	require.NoError(m.t, err)
	require.Equal(m.t, m.last, now, "an ended task does not change")
	if !m.asked.IsZero() { // it may have been done before
		require.Contains(m.t, []task.State{task.Cancelled, task.Succeeded}, now.Status, "%+v", now.Error)
	}
	for _, call := range m.provider.CallsWith(m.mark()) {
		require.False(m.t, call.Began.After(m.ended), "a call began %s after the end of %s", call.Began.Sub(m.ended), m.id)
	}
	for _, call := range m.videos.Starts(m.mark()) {
		require.False(m.t, call.At.After(m.ended), "a job was submitted %s after the end of %s", call.At.Sub(m.ended), m.id)
	}
	status, body := m.post("/v1/tasks/"+m.id+"/cancel", "")
	require.Equal(m.t, http.StatusOK, status, body)
}

// adds checks that the counts of the task are those of its items.
func (m *moment) adds() {
	counts := task.Counts{}
	for _, item := range m.everyItem(m.id) {
		counts.Total++
		switch item.Status {
		case task.ItemSucceeded:
			counts.Succeeded++
		case task.ItemCancelled:
			counts.Cancelled++
		default:
			require.Failf(m.t, "an item without an outcome", "%s: %+v", m.id, item)
		}
	}
	if counts.Total > 0 { // one that was cancelled before its items were known has none
		require.Equal(m.t, m.last.Progress.Counts, counts)
	}
}

// costs compares what the task says that it used with the journals. What was on its way when the cancel came is the one thing they may differ in: the
// provider thinks that an answer was through and the worker has not read it, or the call was begun and did not arrive. Either is counted as unmetered.
func (m *moment) costs() (calls, told, unmetered int) {
	u := m.last.Usage
	unmetered = int(u.UnmeteredCalls)
	if m.n%7 == 6 {
		return m.charged(), m.charged(), unmetered
	}
	for _, call := range m.provider.CallsWith(m.mark()) {
		calls++
		if call.Told != (llmtest.Usage{}) {
			told++
		}
	}
	tokens := int(u.InputTokens + u.OutputTokens + u.WastedTokens)
	require.Zero(m.t, tokens%callTokens, "%+v", u)
	metered := tokens / callTokens
	why := fmt.Sprintf("%s: %d calls, %d told, %+v", m.last.Kind, calls, told, u)
	require.LessOrEqual(m.t, metered, told, why)
	require.LessOrEqual(m.t, told-metered, unmetered, "an answer that was told is not booked: %s", why)
	require.LessOrEqual(m.t, calls, metered+unmetered, "a call is not counted: %s", why)
	require.LessOrEqual(m.t, metered+unmetered, calls+callsAtOnce, why)
	return calls, told, unmetered
}

// charged checks the cost of a task of videos, and gives how many jobs are charged for.
func (m *moment) charged() (n int) {
	for _, job := range m.videos.Jobs(m.mark()) {
		if job.Told != "cancelled" {
			n++
		}
	}
	const each = 0.5 // five seconds
	booked := 0.0
	if m.last.Usage.Cost != nil {
		booked = m.last.Usage.Cost.Amount / each
	}
	require.LessOrEqual(m.t, booked, float64(n)+1e-9, "%+v", m.last.Usage)
	require.LessOrEqual(m.t, float64(n), booked+float64(m.last.Usage.UnmeteredCalls)+1e-9, "%+v", m.last.Usage)
	return n
}
