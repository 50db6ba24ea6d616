package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// An estimate is a range around the expected time, and nil without data.
func TestETA(t *testing.T) {
	t.Parallel()
	similar := []taskDuration{{10, 100}, {10, 110}, {12, 120}, {8, 130}, {10, 140}, {10, 150}, {500, 9000}}
	tests := map[string]struct {
		durations []taskDuration
		elapsed   time.Duration
		change    func(*task.Task)
		want      *task.ETA
	}{
		"no data":                          {},
		"too few similar tasks":            {durations: similar[:4]},
		"durations alone":                  {durations: similar, elapsed: 20 * time.Second, want: &task.ETA{Seconds: 110, Low: 90, High: 130}},
		"longer than similar tasks":        {durations: similar, elapsed: 200 * time.Second},
		"speed alone":                      {elapsed: 50 * time.Second, change: halfWay, want: &task.ETA{Seconds: 60, Low: 45, High: 90}},
		"both, weighted by progress":       {durations: similar, elapsed: 30 * time.Second, change: halfWay, want: &task.ETA{Seconds: 80, Low: 62, High: 105}},
		"speed, longer than similar tasks": {durations: similar, elapsed: 200 * time.Second, change: halfWay, want: &task.ETA{Seconds: 60, Low: 45, High: 90}},
		"the clock was set back":           {durations: similar, elapsed: -time.Hour, change: updatedLater, want: &task.ETA{Seconds: 95, Low: 78, High: 120}},
		"waiting":                          {durations: similar, change: func(t *task.Task) { t.Waiting = &task.Waiting{Reason: "rate_limit"} }},
		"cancelling":                       {durations: similar, change: func(t *task.Task) { t.Status = task.Cancelling }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newDurationCache(func(context.Context, string) []taskDuration { return nil })
			c.kinds["summary"] = &kindDurations{time.Now(), test.durations}
			now := task.Task{Kind: "summary", Status: task.Processing, StartedAt: new(time.Now().Add(-test.elapsed)), UpdatedAt: time.Now()}
			now.Progress.Counts.Total = 10
			if test.change != nil {
				test.change(&now)
			}
			got := c.eta(now)
			if test.want == nil {
				require.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			for _, pair := range [][2]int64{{test.want.Seconds, got.Seconds}, {test.want.Low, got.Low}, {test.want.High, got.High}} {
				require.InDelta(t, pair[0], pair[1], 2, "%+v", got)
			}
			require.True(t, got.Low <= got.Seconds && got.Seconds <= got.High)
		})
	}
}

// updatedLater sets a last update in an hour, as after a clock that was set back.
func updatedLater(t *task.Task) {
	halfWay(t)
	t.UpdatedAt = time.Now().Add(time.Hour)
}

func halfWay(t *task.Task) { t.Progress.Percent, t.Progress.ETA = new(50), &task.ETA{Seconds: 60} }

// Durations of ended tasks are read once a minute, in the background.
func TestETA_readsDurations(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	for range 6 {
		id := f.run("acme")
		f.move(id, func(w *fakeWorkflow) {
			w.state.StartedAt = time.Now().Add(-time.Minute)
			w.state.Progress.Counts = task.Counts{Total: 3, Succeeded: 3}
		})
		f.finish(id)
	}
	id := f.run("acme")
	f.move(id, func(w *fakeWorkflow) { w.state.Progress.Counts = task.Counts{Total: 3, Pending: 3} })
	require.Eventually(t, func() bool {
		now, err := engines[0].Get(t.Context(), "acme", id)
		return err == nil && now.Progress.ETA != nil && now.Progress.ETA.Seconds > 50
	}, 30*time.Second, 20*time.Millisecond)
	require.EqualValues(t, 1, f.lists.Load())
}
