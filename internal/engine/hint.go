package engine

import (
	"context"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Hint lets a video task that runs ask its provider about an item now. Whoever says so is not believed, only
// heard: without such a task, or such an item, it is task.NotFound.
func (e *Engine) Hint(ctx context.Context, id string, item int) error {
	d, err := e.look(ctx, id)
	if err != nil {
		return err
	}
	if s := d.snapshot; d.facts.Kind != record.KindVideo || s.State.Terminal() || item < 0 || item >= s.Progress.Counts.Total {
		return task.Errorf(task.NotFound, "no video %d of task %q runs", item, id)
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	if err := e.Client.SignalWorkflow(ctx, id, "", record.SignalVideoHint, item); err != nil {
		return words(err, id)
	}
	return nil
}
