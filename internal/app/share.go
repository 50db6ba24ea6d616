package app

import (
	"context"
	"time"

	taskqueuepb "go.temporal.io/api/taskqueue/v1"

	"longhaul/internal/cluster"
	"longhaul/internal/record"
)

// countEvery is how often a worker counts the workers.
const countEvery = time.Second

// supposed is how many workers there may be as long as nobody has counted them: those that begin
// together must not use the whole limit each.
const supposed = 10

// share divides the limits a minute by the number of workers that live, until ctx ends: they all use
// the same keys. A share shrinks at once, and grows when two counts in a row allow it. Limits that nobody
// configured are shared as well: the provider may tell them.
func (a *App) share(ctx context.Context, gates []gate) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	counted, sharing := supposed, supposed
	shareAmong(gates, sharing)
	for {
		if n := a.countWorkers(ctx); n > 0 {
			if most := max(n, counted); most != sharing {
				sharing = most
				shareAmong(gates, sharing)
				a.Log.Debug("limits a minute are shared", "workers", sharing)
			}
			counted = n
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func shareAmong(gates []gate, n int) {
	for _, gate := range gates {
		gate.Share(n)
	}
}

// countWorkers counts the workers; 0 when it cannot be known. One that has stopped keeps its share as long as one that was killed: that
// Temporal does not tell of it any more may be for another reason.
func (a *App) countWorkers(ctx context.Context) int {
	told, err := a.whoPolls(ctx)
	if err != nil {
		return 0
	}
	return len(a.workers.Lately(told))
}

// whoPolls asks who polls for decisions.
func (a *App) whoPolls(ctx context.Context) ([]*taskqueuepb.PollerInfo, error) {
	return cluster.WhoPolls(ctx, a.Temporal.Client, a.Temporal.Namespace, record.QueueWorkflows)
}
