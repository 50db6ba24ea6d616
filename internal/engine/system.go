package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// systemMemory is how long what System found is told again: dashboards ask often, and each look costs Temporal some twenty questions.
const systemMemory = 3 * time.Second

// systemCache remembers, for a moment, the installation under "" and the load of each tenant under its name.
type systemCache struct {
	mu    sync.Mutex
	found map[string]task.System
}

// System tells how the installation stands, and how the tasks of a tenant fare.
func (e *Engine) System(ctx context.Context, tenant string) (task.System, error) {
	if err := e.prepared(); err != nil {
		return task.System{}, err
	}
	s := e.Installation(ctx)
	own := e.system.remember(ctx, tenant, func(ctx context.Context) task.System { return e.load(ctx, tenant) })
	s.Kinds, s.Throughput, s.Dead = own.Kinds, own.Throughput, own.Dead
	return s, nil
}

// Installation is System without what belongs to a tenant.
func (e *Engine) Installation(ctx context.Context) task.System {
	return e.system.remember(ctx, "", e.installation)
}

// remember gives what was found a moment ago, or looks: to the end, even if the one who asks leaves, for others are told the same. Two who come
// together may both look.
func (c *systemCache) remember(ctx context.Context, of string, look func(context.Context) task.System) task.System {
	c.mu.Lock()
	was, ok := c.found[of]
	c.mu.Unlock()
	if ok && time.Since(was.At) < systemMemory {
		return was
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patienceWithTemporal)
	defer cancel()
	s := look(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[string]task.System{}
	}
	maps.DeleteFunc(c.found, func(_ string, old task.System) bool { return time.Since(old.At) >= systemMemory })
	c.found[of] = s
	return s
}

// installation is what all tenants share.
func (e *Engine) installation(ctx context.Context) task.System {
	s := task.System{Object: "system", At: time.Now().UTC()}
	var pollers []task.WorkerInfo
	var all sync.WaitGroup
	all.Go(func() { s.Queues, pollers = e.queues(ctx) })
	all.Go(func() { s.Workers = e.heartbeats(ctx) })
	all.Go(func() { s.Lanes = e.lanes(ctx) })
	all.Wait()
	if s.Workers == nil {
		s.Workers = pollers
	}
	return s
}

// ReportAge is how old the report of a worker may be: one that was killed could not take it away.
const ReportAge = 45 * time.Second

// lanes puts together what the workers report of their lanes: one is open if it is so everywhere.
func (e *Engine) lanes(ctx context.Context) []task.LaneState {
	entries, err := e.Bucket.List(ctx, storage.WorkersPrefix)
	if err != nil {
		return nil
	}
	var all []task.LaneState
	for _, entry := range entries {
		var report task.WorkerReport
		if time.Since(entry.ModTime) > ReportAge || e.Bucket.GetJSON(ctx, storage.WorkersPrefix+entry.Name, &report) != nil {
			continue
		}
		for _, l := range report.Lanes {
			all = join(all, l)
		}
	}
	return all
}

func join(all []task.LaneState, l task.LaneState) []task.LaneState {
	if l.Until != nil && !l.Until.After(time.Now()) {
		l.Open, l.Why, l.Until = true, "", nil // it opened since
	}
	i := slices.IndexFunc(all, func(other task.LaneState) bool { return other.Provider == l.Provider })
	if i < 0 {
		return append(all, l)
	}
	sum := &all[i]
	sum.InFlight, sum.Waiting, sum.Limit = sum.InFlight+l.InFlight, sum.Waiting+l.Waiting, sum.Limit+l.Limit
	if !l.Open && (sum.Open || l.Until.After(*sum.Until)) {
		sum.Open, sum.Why, sum.Until = false, l.Why, l.Until
	}
	return all
}
