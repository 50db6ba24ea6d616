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

// systemTTL is how long System is cached: dashboards ask often, and each answer costs about twenty requests to Temporal.
const systemTTL = 3 * time.Second

// systemCache caches the installation under "" and the load of each tenant under its name.
type systemCache struct {
	mu      sync.Mutex
	entries map[string]task.System
}

// System returns the state of the installation and the load of a tenant. What cannot be read is left out.
func (e *Engine) System(ctx context.Context, tenant string) (task.System, error) {
	if err := e.checkPrepared(); err != nil {
		return task.System{}, err
	}
	s := e.Installation(ctx)
	load := e.system.get(ctx, tenant, func(ctx context.Context) task.System { return e.tenantLoad(ctx, tenant) })
	s.Kinds, s.Throughput, s.Dead = load.Kinds, load.Throughput, load.Dead
	return s, nil
}

// Installation returns the part of System that all tenants share: queues, workers and lanes.
func (e *Engine) Installation(ctx context.Context) task.System {
	return e.system.get(ctx, "", e.readInstallation)
}

// get returns the cached entry, or reads a new one. The read ignores the end of ctx, because its result is cached for other callers;
// concurrent callers may each read.
func (c *systemCache) get(ctx context.Context, key string, read func(context.Context) task.System) task.System {
	c.mu.Lock()
	cached, ok := c.entries[key]
	c.mu.Unlock()
	if ok && time.Since(cached.At) < systemTTL {
		return cached
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), temporalTimeout)
	defer cancel()
	s := read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]task.System{}
	}
	maps.DeleteFunc(c.entries, func(_ string, old task.System) bool { return time.Since(old.At) >= systemTTL })
	c.entries[key] = s
	return s
}

// readInstallation reads queues, workers and lanes side by side.
func (e *Engine) readInstallation(ctx context.Context) task.System {
	s := task.System{Object: "system", At: time.Now().UTC()}
	var pollers []task.WorkerInfo
	var all sync.WaitGroup
	all.Go(func() { s.Queues, pollers = e.queues(ctx) })
	all.Go(func() { s.Workers = e.workersByHeartbeat(ctx) })
	all.Go(func() { s.Lanes = e.lanes(ctx) })
	all.Wait()
	if s.Workers == nil {
		s.Workers = pollers
	}
	return s
}

// ReportAge is how old the lane report of a worker may be. A killed worker leaves its report in the bucket.
const ReportAge = 45 * time.Second

// lanes merges the lane reports of all workers. A lane is open if it is open in every worker.
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
			all = mergeLane(all, l)
		}
	}
	return all
}

// mergeLane adds the report of one worker to the sum of its provider.
func mergeLane(all []task.LaneState, l task.LaneState) []task.LaneState {
	if l.Until != nil && !l.Until.After(time.Now()) {
		l.Open, l.Why, l.Until = true, "", nil // the lane has opened since the report
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
