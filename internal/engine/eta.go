package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

const (
	durationsTTL = time.Minute // how long measured durations are used
	maxDurations = 100         // how many tasks of a kind are measured, the last that succeeded
	minSimilar   = 5           // with fewer tasks of a similar size there is no estimate from durations
)

// taskDuration is how long a task ran and how many items it had.
type taskDuration struct {
	items   int
	seconds float64
}

// durationCache caches how long the last tasks of each kind ran. Callers never wait for it: while durations are being read, they
// get the old ones or none.
type durationCache struct {
	read func(ctx context.Context, kind string) []taskDuration

	mu    sync.Mutex
	kinds map[string]*kindDurations
}

type kindDurations struct {
	readAt time.Time
	tasks  []taskDuration
}

func newDurationCache(read func(ctx context.Context, kind string) []taskDuration) *durationCache {
	return &durationCache{read: read, kinds: map[string]*kindDurations{}}
}

// of returns the cached durations of a kind, and starts a new read if they are older than durationsTTL.
func (c *durationCache) of(kind string) []taskDuration {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kinds[kind]
	if !ok {
		k = &kindDurations{}
		c.kinds[kind] = k
	}
	if time.Since(k.readAt) > durationsTTL {
		k.readAt = time.Now()
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), temporalTimeout)
			defer cancel()
			tasks := c.read(ctx, kind)
			c.mu.Lock()
			defer c.mu.Unlock()
			k.tasks = tasks
		}()
	}
	return k.tasks
}

// readDurations reads from Temporal how long the last tasks of a kind ran that succeeded; nil after an error.
func (e *Engine) readDurations(ctx context.Context, kind string) (durations []taskDuration) {
	answer, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: maxDurations,
		Query: record.AttrKind.GetName() + " = " + quote(kind) + " AND ExecutionStatus = 'Completed'",
	})
	if err != nil {
		return nil
	}
	for _, execution := range answer.GetExecutions() {
		t, ok := e.taskOfExecution(execution)
		if ok && t.Done && t.StartedAt != nil && t.Progress.Counts.Total > 0 {
			durations = append(durations, taskDuration{t.Progress.Counts.Total, t.FinishedAt.Sub(*t.StartedAt).Seconds()})
		}
	}
	return durations
}

// eta estimates the remaining time of a task from its own speed and from the durations of similar tasks; with both, the task's
// own speed is weighted by its progress. Without either, or if the task does not run, it is nil.
func (c *durationCache) eta(t task.Task) *task.ETA {
	if t.Status != task.Processing || t.StartedAt == nil || t.Waiting != nil {
		return nil
	}
	own := etaFromSpeed(t)
	similar := etaFromDurations(t, c.of(t.Kind), max(time.Since(*t.StartedAt), 0).Seconds())
	switch {
	case own == nil:
		return similar
	case similar == nil:
		return own
	}
	weight := 0.0
	if t.Progress.Percent != nil {
		weight = float64(*t.Progress.Percent) / 100
	}
	mix := func(a, b int64) int64 { return int64(math.Ceil(weight*float64(a) + (1-weight)*float64(b))) }
	return &task.ETA{Seconds: mix(own.Seconds, similar.Seconds), Low: mix(own.Low, similar.Low), High: mix(own.High, similar.High)}
}

// etaFromSpeed widens the workflow's own estimate to a range: at the start from half to double, at the end to a point.
func etaFromSpeed(t task.Task) *task.ETA {
	if t.Progress.ETA == nil {
		return nil
	}
	left := max(float64(t.Progress.ETA.Seconds)-max(time.Since(t.UpdatedAt), 0).Seconds(), 1)
	open := 1.0
	if t.Progress.Percent != nil {
		open = 1 - float64(*t.Progress.Percent)/100
	}
	return newETA(left, left*(1-open/2), left*(1+open))
}

// etaFromDurations estimates from tasks with half to double the items: median, tenth and ninetieth percentile. It is nil with fewer
// than minSimilar such tasks, and for a task that already runs longer than nine tenths of them.
func etaFromDurations(t task.Task, durations []taskDuration, elapsed float64) *task.ETA {
	var seconds []float64
	for _, d := range durations {
		if total := t.Progress.Counts.Total; 2*d.items >= total && d.items <= 2*total {
			seconds = append(seconds, d.seconds)
		}
	}
	if len(seconds) < minSimilar {
		return nil
	}
	slices.Sort(seconds)
	at := func(share float64) float64 { return seconds[int(share*float64(len(seconds)-1)+0.5)] - elapsed }
	if at(0.9) <= 0 {
		return nil
	}
	return newETA(max(at(0.5), 1), max(at(0.1), 0), at(0.9))
}

// newETA rounds to whole seconds and keeps low <= seconds <= high.
func newETA(seconds, low, high float64) *task.ETA {
	e := &task.ETA{Seconds: int64(math.Ceil(seconds)), Low: int64(math.Floor(low)), High: int64(math.Ceil(high))}
	e.Seconds = max(e.Seconds, e.Low)
	e.High = max(e.High, e.Seconds)
	return e
}
