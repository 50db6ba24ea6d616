package engine

import (
	"context"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Hint makes a running video task ask its provider about an item at once. The caller is not authenticated, so a hint carries no state;
// without such a task or item it is task.NotFound.
func (e *Engine) Hint(ctx context.Context, id string, item int) error {
	d, err := e.describe(ctx, id)
	if err != nil {
		return err
	}
	if s := d.snapshot; d.facts.Kind != record.KindVideo || s.State.Terminal() || item < 0 || item >= s.Progress.Counts.Total {
		return task.Errorf(task.NotFound, "task %q has no running video %d", id, item)
	}
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	if err := e.Client.SignalWorkflow(ctx, id, "", record.SignalVideoHint, item); err != nil {
		return translateError(err, id)
	}
	return nil
}
