package app

import (
	"context"
	"time"

	"longhaul/activities"
	"longhaul/internal/cluster"
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
		live, _ := a.pollers(ctx) // none when it cannot be known
		if n := len(live); n > 0 {
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

// pollers are those who asked for decisions lately.
func (a *App) pollers(ctx context.Context) (map[string]time.Time, error) {
	return cluster.Pollers(ctx, a.Temporal.Client, a.Temporal.Namespace, activities.QueueWorkflows)
}
