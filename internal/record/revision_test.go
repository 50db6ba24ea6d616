package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// world is a task as Temporal and its workflow know it.
type world struct {
	snapshot record.Snapshot
	observed record.Observed
	begun    bool
	facts    record.Facts
}

// events are what may happen to a task, each with the condition under which it can.
var events = map[string]struct {
	can func(w *world) bool
	do  func(w *world)
}{
	"start time": {
		func(w *world) bool {
			return w.observed.Open && w.snapshot.State == task.Scheduled && !w.observed.StartPassed
		},
		func(w *world) { w.observed.StartPassed = true },
	},
	"begin": {
		func(w *world) bool {
			// A cancelled workflow begins at once, whatever its start time.
			return w.observed.Open && !w.begun && (w.facts.StartAt == nil || w.observed.StartPassed || w.observed.CancelRequested)
		},
		func(w *world) {
			w.begun = true
			w.snapshot = record.Snapshot{Revision: record.FirstRevision(w.facts), State: task.Processing}
			w.snapshot.Next()
		},
	},
	"progress": {
		func(w *world) bool { return w.working() },
		func(w *world) { w.snapshot.Next() },
	},
	"pause": {
		func(w *world) bool { return w.working() && w.snapshot.State == task.Processing },
		func(w *world) { w.snapshot.State = task.Paused; w.snapshot.Next() },
	},
	"cancel requested": {
		func(w *world) bool { return w.observed.Open && !w.observed.CancelRequested },
		func(w *world) { w.observed.CancelRequested = true },
	},
	"cancel arrives": {
		func(w *world) bool {
			return w.working() && w.observed.CancelRequested && w.snapshot.State != task.Cancelling
		},
		func(w *world) { w.snapshot.Cancel(); w.snapshot.Next() },
	},
	"end": {
		func(w *world) bool { return w.working() },
		func(w *world) { w.snapshot.State = task.Succeeded; w.snapshot.Next() },
	},
	"close": {
		func(w *world) bool { return w.observed.Open && w.snapshot.State.Terminal() },
		func(w *world) { w.observed.Open = false },
	},
	"terminated": {
		func(w *world) bool { return w.observed.Open && !w.snapshot.State.Terminal() },
		func(w *world) { w.observed.Open, w.observed.EndedOutside = false, task.Failed },
	},
}

func (w *world) working() bool {
	return w.observed.Open && w.begun && !w.snapshot.State.Terminal()
}

// In every order of events the revision never falls, and one revision never shows two states.
func TestRevision_everyOrderOfEvents(t *testing.T) {
	t.Parallel()
	for name, facts := range map[string]record.Facts{"at once": {}, "scheduled": {StartAt: new(time.Now())}} {
		orders := 0
		explore(t, world{snapshot: record.FirstSnapshot(1, facts), observed: record.Observed{Open: true}, facts: facts}, nil, nil, &orders)
		require.Greater(t, orders, 400, name)
	}
}

// explore follows every order of up to eight events from a world.
func explore(t *testing.T, w world, path []string, shown []string, orders *int) {
	t.Helper()
	state, revision := w.snapshot.Observe(w.observed)
	now := fmt.Sprintf("%03d %s", revision, state)
	if n := len(shown); n > 0 {
		last := shown[n-1]
		require.LessOrEqual(t, last[:3], now[:3], "the revision fell: %v, %v then %s", path, shown, now)
		require.True(t, last[:3] != now[:3] || last == now, "one revision, two states: %v, %v then %s", path, shown, now)
	}
	shown = append(slices.Clone(shown), now)
	*orders++
	if len(path) == 8 {
		return
	}
	for name, event := range events {
		if !event.can(&w) || strings.Count(strings.Join(path, ","), "progress") > 1 && name == "progress" {
			continue
		}
		next := w
		event.do(&next)
		explore(t, next, append(slices.Clone(path), name), shown, orders)
	}
}
