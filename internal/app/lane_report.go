package app

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"longhaul/internal/engine"
	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/metrics"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// providerLane is the lane of a provider, with the name of the provider in reports and metrics.
type providerLane struct {
	provider string
	*lane.Lane
}

// reportInterval is how often a worker checks whether the state of its lanes has changed. Unchanged, it is reported every third of
// engine.ReportAge.
const reportInterval = 5 * time.Second

// reportLanes writes the state of this worker's lanes to the bucket, where the API reads it, until ctx ends; it then deletes the report.
func (a *App) reportLanes(ctx context.Context, lanes []providerLane) {
	key := storage.WorkerKey(strings.NewReplacer("/", "_", "@", "-").Replace(a.Temporal.Identity))
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportInterval)
		defer cancel()
		if err := a.Bucket.Delete(cleanup, key); err != nil {
			a.Log.Warn("deleting the lane report of this worker failed; the report expires by itself", "error", err)
		}
	}()
	a.deleteOldReports(ctx)
	var last task.WorkerReport
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	for {
		now := task.WorkerReport{Identity: a.Temporal.Identity, At: time.Now().UTC(), Lanes: laneStates(lanes)}
		if now.At.Sub(last.At) > engine.ReportAge/3 || !reflect.DeepEqual(now.Lanes, last.Lanes) {
			if err := a.Bucket.PutJSON(ctx, key, now); err == nil {
				last = now
			} else if ctx.Err() == nil {
				a.Log.Debug("writing the lane report of this worker failed", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// deleteOldReports deletes the reports of workers that were killed over an hour ago.
func (a *App) deleteOldReports(ctx context.Context) {
	entries, err := a.Bucket.List(ctx, storage.WorkersPrefix)
	for _, entry := range entries {
		if time.Since(entry.ModTime) > time.Hour {
			err = errors.Join(err, a.Bucket.Delete(ctx, storage.WorkersPrefix+entry.Name))
		}
	}
	if err != nil && ctx.Err() == nil {
		a.Log.Debug("deleting old lane reports failed", "error", err)
	}
}

func laneStates(lanes []providerLane) []task.LaneState {
	var all []task.LaneState
	for _, pl := range lanes {
		s := pl.State()
		l := task.LaneState{
			Provider: pl.provider, Open: s.Until.IsZero(), InFlight: s.InFlight, Waiting: s.Waiting, Limit: s.Limits.Concurrency,
		}
		if !l.Open {
			l.Why, l.Until = closedReason(s.Why), new(s.Until.UTC())
		}
		all = append(all, l)
	}
	return all
}

// closedReason returns why a lane is closed, as a code. The provider's own text is left out, because it may not be meant for tenants.
func closedReason(why error) string {
	if refusal, ok := errors.AsType[*llm.Error](why); ok {
		return string(refusal.Code)
	}
	return string(task.RateLimited)
}

// laneSamples returns the metrics of lanes.
func laneSamples(lanes []providerLane) []metrics.Sample {
	var all []metrics.Sample
	for _, l := range laneStates(lanes) {
		closed := 1.0
		if l.Open {
			closed = 0
		}
		for name, s := range map[string]metrics.Sample{
			"lane_closed":    {Help: "1 if the lane of the provider is closed.", Value: closed},
			"lane_in_flight": {Help: "Running calls to the provider.", Value: float64(l.InFlight)},
			"lane_waiting":   {Help: "Calls that wait in the lane.", Value: float64(l.Waiting)},
			"lane_limit":     {Help: "Most calls at a time; 0 means no limit.", Value: float64(l.Limit)},
		} {
			s.Name, s.Label, s.Of = name, "provider", l.Provider
			all = append(all, s)
		}
	}
	return all
}
