package app

import (
	"context"
	"time"

	taskqueuepb "go.temporal.io/api/taskqueue/v1"

	"longhaul/internal/cluster"
	"longhaul/internal/record"
)

// countInterval is how often a worker counts the running workers.
const countInterval = time.Second

// assumedWorkers is the number of workers until the first count, so that workers that start together do not use the whole limit each.
const assumedWorkers = 10

// shareLimits divides the limits per minute of all lanes, configured or learnt from the provider, by the number of running workers, until ctx ends. A share
// shrinks at once and grows after two counts in a row.
func (a *App) shareLimits(ctx context.Context, lanes []providerLane) {
	tick := time.NewTicker(countInterval)
	defer tick.Stop()
	lastCount, sharing := assumedWorkers, assumedWorkers
	setShares(lanes, sharing)
	for {
		if n := a.countWorkers(ctx); n > 0 {
			if higher := max(n, lastCount); higher != sharing {
				sharing = higher
				setShares(lanes, sharing)
				a.Log.Debug("limits per minute are shared", "workers", sharing)
			}
			lastCount = n
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func setShares(lanes []providerLane, n int) {
	for _, l := range lanes {
		l.Share(n)
	}
}

// countWorkers counts the running workers; 0 if Temporal does not answer. A worker that stopped is counted a while longer, as if it were killed, because a restarted
// Temporal server forgets pollers that still run.
func (a *App) countWorkers(ctx context.Context) int {
	pollers, err := a.workflowPollers(ctx)
	if err != nil {
		return 0
	}
	return len(a.pollers.Lately(pollers))
}

// workflowPollers returns the pollers of the workflow queue, which every worker polls.
func (a *App) workflowPollers(ctx context.Context) ([]*taskqueuepb.PollerInfo, error) {
	return cluster.WhoPolls(ctx, a.Temporal.Client, a.Temporal.Namespace, record.QueueWorkflows)
}
