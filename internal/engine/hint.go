package engine

import (
	"context"

	"longhaul/internal/task"
	"longhaul/workflows"
)

// Hint lets a video task that runs ask its provider about an item now. Whoever says so is not believed, only
// heard: without such a task, or such an item, it is task.NotFound.
func (e *Engine) Hint(ctx context.Context, id string, item int) error {
	missing := task.Errorf(task.NotFound, "no video %d of task %q runs", item, id)
	if !validID.MatchString(id) || item < 0 {
		return missing
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	raw, err := e.Client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return words(err, id)
	}
	var f workflows.Facts
	var s workflows.Snapshot
	if raw.GetMemoValue(workflows.MemoFacts, &f) != nil || raw.GetMemoValue(workflows.MemoState, &s) != nil {
		return missing
	}
	if f.Kind != workflows.KindVideo || s.State.Terminal() || item >= s.Progress.Counts.Total {
		return missing
	}
	if err := e.Client.SignalWorkflow(ctx, id, "", workflows.SignalHint, item); err != nil {
		return words(err, id)
	}
	return nil
}
