package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// checkAll checks all tasks again after the last has ended.
func (ct *cancelTest) checkAll() {
	var took []time.Duration
	after := map[task.State]int{}
	for _, m := range ct.cases {
		after[m.last.Status]++
		m.checkUnchanged()
		m.checkCounts()
		if m.last.Status == task.Cancelled {
			took = append(took, m.endedAt.Sub(m.cancelledAt))
		}
	}
	slices.Sort(took)
	require.NotEmpty(ct.t, took)
	ct.t.Logf("%d tasks ended as %v; from cancel to end %.1f s in the median, %.1f s at most",
		len(ct.cases), after, took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
}

// checkUnchanged checks that the task is as it was when it ended, and that no call began after its end.
func (m *cancelCase) checkUnchanged() {
	now, err := m.client.Get(m.soon(), m.id)
	require.NoError(m.t, err)
	require.Equal(m.t, m.last, now, "an ended task does not change")
	if !m.cancelledAt.IsZero() { // a task may end before its cancel
		require.Contains(m.t, []task.State{task.Cancelled, task.Succeeded}, now.Status, "%+v", now.Error)
	}
	for _, call := range m.provider.CallsWith(m.mark()) {
		require.False(m.t, call.Began.After(m.endedAt), "a call began %s after the end of %s", call.Began.Sub(m.endedAt), m.id)
	}
	for _, call := range m.videos.Starts(m.mark()) {
		require.False(m.t, call.At.After(m.endedAt), "a job was submitted %s after the end of %s", call.At.Sub(m.endedAt), m.id)
	}
	status, body := m.post("/v1/tasks/"+m.id+"/cancel", "")
	require.Equal(m.t, http.StatusOK, status, body)
}

// checkCounts checks that the counts of the task are the counts of its items.
func (m *cancelCase) checkCounts() {
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
	if counts.Total > 0 { // a task that was cancelled before its plan has no items
		require.Equal(m.t, m.last.Progress.Counts, counts)
	}
}

// checkUsage compares the task's usage with the provider's journal. They may differ by the calls in flight at the cancel,
// because the provider may consider an answer delivered that the worker did not read, and a call may begin that never
// arrives; the task counts both as unmetered.
func (m *cancelCase) checkUsage() (calls, told, unmetered int) {
	u := m.last.Usage
	unmetered = int(u.UnmeteredCalls)
	if m.last.Kind == "video" {
		n := m.checkVideoCost()
		return n, n, unmetered
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
	require.LessOrEqual(m.t, told-metered, unmetered, "an answer is missing in the usage: %s", why)
	require.LessOrEqual(m.t, calls, metered+unmetered, "a call is not counted: %s", why)
	require.LessOrEqual(m.t, metered+unmetered, calls+callsAtOnce, why)
	return calls, told, unmetered
}

// checkVideoCost checks the cost of a video task and returns the number of jobs that the provider charges for.
func (m *cancelCase) checkVideoCost() (n int) {
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
