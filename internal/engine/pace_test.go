package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// An estimate is a range that holds what it is made of, and is absent where there is nothing to go by.
func TestETA(t *testing.T) {
	t.Parallel()
	alike := []pace{{10, 100}, {10, 110}, {12, 120}, {8, 130}, {10, 140}, {10, 150}, {500, 9000}}
	tests := map[string]struct {
		known   []pace
		elapsed time.Duration
		change  func(*task.Task)
		want    *task.ETA
	}{
		"nothing known":             {},
		"too few alike":             {known: alike[:4]},
		"others alone":              {known: alike, elapsed: 20 * time.Second, want: &task.ETA{Seconds: 110, Low: 90, High: 130}},
		"longer than all others":    {known: alike, elapsed: 200 * time.Second},
		"its speed alone":           {elapsed: 50 * time.Second, change: halfWay, want: &task.ETA{Seconds: 60, Low: 45, High: 90}},
		"both, by how far it is":    {known: alike, elapsed: 30 * time.Second, change: halfWay, want: &task.ETA{Seconds: 80, Low: 62, High: 105}},
		"its speed, others outlast": {known: alike, elapsed: 200 * time.Second, change: halfWay, want: &task.ETA{Seconds: 60, Low: 45, High: 90}},
		"the clock was put back":    {known: alike, elapsed: -time.Hour, change: updatedLater, want: &task.ETA{Seconds: 95, Low: 78, High: 120}},
		"waiting":                   {known: alike, change: func(t *task.Task) { t.Waiting = &task.Waiting{Reason: "rate_limit"} }},
		"cancelling":                {known: alike, change: func(t *task.Task) { t.Status = task.Cancelling }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPaces(func(context.Context, string) []pace { return nil })
			p.known["summary"] = &learnt{time.Now(), test.known}
			now := task.Task{Kind: "summary", Status: task.Processing, StartedAt: new(time.Now().Add(-test.elapsed)), UpdatedAt: time.Now()}
			now.Progress.Counts.Total = 10
			if test.change != nil {
				test.change(&now)
			}
			got := p.eta(now)
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

// updatedLater is a task that was half way an hour from now, by a clock that was put back since.
func updatedLater(t *task.Task) {
	halfWay(t)
	t.UpdatedAt = time.Now().Add(time.Hour)
}

func halfWay(t *task.Task) { t.Progress.Percent, t.Progress.ETA = new(50), &task.ETA{Seconds: 60} }

// What others took is looked up once a minute, and nobody waits for it.
func TestETA_learns(t *testing.T) {
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
