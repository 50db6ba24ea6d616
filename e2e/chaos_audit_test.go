package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// audit compares all views of the tasks after the last has ended.
func (c *chaos) audit(tasks []*chaosTask) {
	listed := c.listAll()
	var used task.Usage
	count := 0
	for _, f := range tasks {
		for _, id := range f.ids {
			count++
			t := c.checkViews(id, f, listed)
			if f.kind != "video" { // a video uses another provider
				used = used.Add(t.Usage)
			}
		}
		c.checkOutcome(f)
	}
	require.Len(c.t, listed, count, "every listed task was submitted")
	c.checkUnsafeCalls()
	c.checkPaidOnce(used)
}

// listAll reads the whole list of tasks once it shows all of them as ended, since the list lags a little.
func (c *chaos) listAll() map[string]task.Task {
	all := map[string]task.Task{}
	require.Eventually(c.t, func() bool {
		clear(all)
		open := 0
		for cursor := ""; ; {
			page, err := c.client.List(c.soon(), task.Filter{Limit: 100, Cursor: cursor})
			require.NoError(c.t, err)
			for _, t := range page.Data {
				require.NotContains(c.t, all, t.ID, "listed twice")
				all[t.ID] = t
				if !t.Done {
					open++
				}
			}
			if page.NextCursor == nil {
				return open == 0
			}
			cursor = *page.NextCursor
		}
	}, 30*time.Second, 500*time.Millisecond, "ended tasks are listed as running")
	return all
}

// checkViews checks that list, status, items and result of a task agree.
func (c *chaos) checkViews(id string, f *chaosTask, listed map[string]task.Task) task.Task {
	t, err := c.client.Get(c.soon(), id)
	require.NoError(c.t, err)
	require.True(c.t, t.Done, "%s %s is %s", f.kind, id, t.Status)
	require.Equal(c.t, t.Status, listed[id].Status)
	require.Equal(c.t, t.Revision, listed[id].Revision)
	require.Equal(c.t, t.Usage, listed[id].Usage)
	counts := task.Counts{}
	var sum task.Usage
	for i, item := range c.everyItem(id) {
		require.Equal(c.t, i, item.Index, "%s %s", f.kind, id)
		counts.Total++
		switch item.Status {
		case task.ItemSucceeded:
			counts.Succeeded++
		case task.ItemFailed:
			counts.Failed++
		case task.ItemCancelled:
			counts.Cancelled++
		default:
			c.t.Errorf("%s %s: item %d is %s after the end", f.kind, id, i, item.Status)
		}
		sum = sum.Add(item.Usage)
	}
	if t.Outcome != task.None || counts.Total > 0 {
		require.Equal(c.t, t.Progress.Counts, counts, "%s %s", f.kind, id)
	}
	status, body := c.get("/v1/tasks/" + id + "/result")
	want := http.StatusOK
	if t.Outcome == task.None && t.Result == nil && t.ResultRef == nil { // a rows task has a receipt even without results
		want = http.StatusConflict
	}
	require.Equal(c.t, want, status, "%s %s, %s: %s", f.kind, id, t.Outcome, body)
	return t
}

// checkOutcome checks that a task succeeded in full unless it was cancelled. No disruption fails a task.
func (c *chaos) checkOutcome(f *chaosTask) {
	if f.cancel && f.last.Status == task.Cancelled {
		return
	}
	why, _ := json.Marshal(f.last)
	require.Equal(c.t, task.Full, f.last.Outcome, "%s %s: %s", f.kind, f.last.ID, why)
	require.Equal(c.t, f.items, f.last.Progress.Counts.Succeeded, "%s", why)
}

// checkUnsafeCalls checks that no unsafe tool call ran twice and no video was paid for twice.
func (c *chaos) checkUnsafeCalls() {
	c.tools.mu.Lock()
	defer c.tools.mu.Unlock()
	bodies := map[string]int{}
	for _, call := range c.tools.calls {
		if call[0] == '{' {
			bodies[call]++
			require.Equal(c.t, 1, bodies[call], "%s ran twice", call)
		}
	}
	c.t.Logf("%d tool calls, %d of them unsafe; videos: %+v", len(c.tools.calls), len(bodies), c.videos.Counts())
	require.Empty(c.t, c.videos.Repeats())
	for _, job := range c.videos.Jobs("") {
		require.Len(c.t, c.videos.Jobs(job.Prompt), 1, "%s was paid for twice", job.Prompt)
	}
}

// checkPaidOnce checks that each answer was paid for once, except those that a disruption destroyed before they were
// recorded, and that the tasks report the tokens in the provider's journal.
func (c *chaos) checkPaidOnce(used task.Usage) {
	calls := c.provider.Calls()
	units := map[string][]llmtest.Call{}
	var faulty, gone int
	for _, call := range calls {
		switch {
		case c.faulty[call.Number]:
			faulty++
		case call.Gone:
			gone++
		default:
			for _, u := range c.units[call.Hash] {
				units[u] = append(units[u], call)
			}
		}
	}
	lost, tokens := map[string]int{}, 0
	for u, paid := range units {
		for i, call := range paid {
			if i == len(paid)-1 {
				tokens += (call.Told.Input + call.Told.Output) / len(c.units[call.Hash])
				continue
			}
			why := c.lostTo(call)
			if why == "" {
				c.t.Errorf("%s was paid for again: %d calls, the first ended %s, recorded %s, %+v", u, len(paid),
					call.Ended.Format(time.StampMilli), c.bucket.recordedAt(call.Hash).Format(time.StampMilli), callTimes(paid))
			}
			lost[why]++
		}
	}
	kinds := map[string]int{}
	for _, s := range c.disruptions {
		kinds[s.what]++
	}
	c.t.Logf("disruptions %v; %d calls: %d failed on purpose, %d interrupted, answers lost to disruptions: %v; %d requests to the bucket failed",
		kinds, len(calls), faulty, gone, lost, c.bucket.refused.Load())
	require.EqualValues(c.t, tokens, used.InputTokens+used.OutputTokens, "the usage of the tasks is the usage of the calls, to the token")
	require.Zero(c.t, used.WastedTokens)
}

func callTimes(calls []llmtest.Call) (all []string) {
	for _, call := range calls {
		all = append(all, fmt.Sprintf("%d %s-%s", call.Number, call.Began.Format(time.StampMilli), call.Ended.Format(time.StampMilli)))
	}
	return all
}

// lostTo returns the disruption that destroyed an answer which had arrived; "" if no disruption did. A recorded answer
// cannot be lost.
func (c *chaos) lostTo(call llmtest.Call) string {
	const writing = 5 * time.Second // the longest time to record an answer on a busy machine
	for _, s := range c.disruptions {
		onRecord := c.bucket.recordedAt(call.Hash)
		late := call.Ended.After(s.at.Add(-writing)) || c.outage(call.Ended, s.at)
		switch {
		case s.what == "worker" && call.Began.Before(s.until) && late && (onRecord.IsZero() || onRecord.After(s.at)):
			return "worker"
		case s.what == "temporal" && call.Began.Before(s.until.Add(6*time.Second)) && call.Ended.After(s.at):
			return "temporal" // it considers running calls lost and schedules them again
		}
	}
	return ""
}

// outage reports whether the bucket failed between two times, so that an answer could not be recorded.
func (c *chaos) outage(from, to time.Time) bool {
	for _, s := range c.disruptions {
		if s.what == "bucket" && s.at.Before(to) && s.until.Add(2*time.Second).After(from) {
			return true
		}
	}
	return false
}
