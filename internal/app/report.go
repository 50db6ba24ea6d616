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

// gate is the lane of a provider, by the name under which it is told of.
type gate struct {
	provider string
	*lane.Lane
}

// reportEvery is how often a worker looks whether there is news of its lanes. Without news it reports just often enough not to be
// taken for dead.
const reportEvery = 5 * time.Second

// report tells how the lanes of this worker stand, for the API, which has none: in a record of the bucket. It takes the record
// away when ctx ends.
func (a *App) report(ctx context.Context, gates []gate) {
	key := storage.WorkerKey(strings.NewReplacer("/", "_", "@", "-").Replace(a.Temporal.Identity))
	defer func() {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportEvery)
		defer cancel()
		if err := a.Bucket.Delete(leave, key); err != nil {
			a.Log.Warn("report of this worker not taken away; it is ignored soon", "error", err)
		}
	}()
	a.sweepReports(ctx)
	var last task.WorkerReport
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		now := task.WorkerReport{Identity: a.Temporal.Identity, At: time.Now().UTC(), Lanes: laneStates(gates)}
		if now.At.Sub(last.At) > engine.ReportAge/3 || !reflect.DeepEqual(now.Lanes, last.Lanes) {
			if err := a.Bucket.PutJSON(ctx, key, now); err == nil {
				last = now
			} else if ctx.Err() == nil {
				a.Log.Debug("report of this worker not written", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweepReports takes away what workers left that were killed long ago.
func (a *App) sweepReports(ctx context.Context) {
	entries, err := a.Bucket.List(ctx, storage.WorkersPrefix)
	for _, entry := range entries {
		if time.Since(entry.ModTime) > time.Hour {
			err = errors.Join(err, a.Bucket.Delete(ctx, storage.WorkersPrefix+entry.Name))
		}
	}
	if err != nil && ctx.Err() == nil {
		a.Log.Debug("old reports of workers not swept", "error", err)
	}
}

func laneStates(gates []gate) []task.LaneState {
	var all []task.LaneState
	for _, g := range gates {
		s := g.State()
		l := task.LaneState{
			Provider: g.provider, Open: s.Until.IsZero(), InFlight: s.InFlight, Waiting: s.Waiting, Limit: s.Limits.Concurrency,
		}
		if !l.Open {
			l.Why, l.Until = closedFor(s.Why), new(s.Until.UTC())
		}
		all = append(all, l)
	}
	return all
}

// closedFor is why a lane is closed, as a code: what the provider said may not be for everybody.
func closedFor(why error) string {
	if refusal, ok := errors.AsType[*llm.Error](why); ok {
		return string(refusal.Code)
	}
	return string(task.RateLimited)
}

func laneSamples(gates []gate) []metrics.Sample {
	var all []metrics.Sample
	for _, l := range laneStates(gates) {
		closed := 1.0
		if l.Open {
			closed = 0
		}
		for name, s := range map[string]metrics.Sample{
			"lane_closed":    {Help: "Whether the gate in front of the provider's key is closed.", Value: closed},
			"lane_in_flight": {Help: "Calls to the provider.", Value: float64(l.InFlight)},
			"lane_waiting":   {Help: "Calls that wait for their turn.", Value: float64(l.Waiting)},
			"lane_limit":     {Help: "Calls at a time; 0 is no limit.", Value: float64(l.Limit)},
		} {
			s.Name, s.Label, s.Of = name, "provider", l.Provider
			all = append(all, s)
		}
	}
	return all
}
