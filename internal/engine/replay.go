package engine

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
	"longhaul/workflows/lifecycle"
)

// Replay starts a new task that runs an ended task again and reuses every answer that was paid for. With an idempotency key the same order
// returns the same task. A task that Temporal has deleted can be replayed while its dead letter exists.
func (e *Engine) Replay(ctx context.Context, tenant, id, key string, order task.ReplayOrder) (t task.Task, replayed bool, err error) {
	letter, err := e.endedTask(ctx, tenant, id)
	if err != nil {
		return t, false, err
	}
	return e.startReplay(ctx, letter, newID(task.Draft{Tenant: tenant, IdempotencyKey: key}), order)
}

// ReplayDead replays a dead letter. It starts one replay at most: later and concurrent calls return the same task.
func (e *Engine) ReplayDead(ctx context.Context, tenant, id string, order task.ReplayOrder) (t task.Task, replayed bool, err error) {
	letter, err := e.findLetter(ctx, tenant, id)
	if err != nil {
		return t, false, err
	}
	if letter.Status == task.DeadDiscarded {
		return t, false, task.Errorf(task.Conflict, "the dead letter was discarded: %s. To replay the task nevertheless, use POST /v1/tasks/%s/replay", letter.Reason, id)
	}
	replayID := record.ReplayID(id)
	switch t, err := e.Get(ctx, tenant, replayID); {
	case err == nil:
		return t, true, e.recordReplay(ctx, tenant, id, t) // the call that started the replay may have failed before it recorded it
	case task.AsError(err).Code != task.NotFound:
		return t, false, err
	case letter.ReplayedBy(replayID):
		return t, false, task.Errorf(task.Gone, "the dead letter was replayed by task %s, which Temporal has deleted. To replay the task nevertheless, use POST /v1/tasks/%s/replay", replayID, id)
	}
	return e.startReplay(ctx, letter, replayID, order)
}

// endedTask returns what a replay needs of an ended task: from Temporal, or from the dead letter if Temporal has deleted the task.
func (e *Engine) endedTask(ctx context.Context, tenant, id string) (storage.StoredDeadLetter, error) {
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil && task.AsError(err).Code == task.NotFound {
		return e.findLetter(ctx, tenant, id)
	}
	if err != nil {
		return storage.StoredDeadLetter{}, err
	}
	if d.status.open() {
		t := e.build(d.facts, d.snapshot, d.status)
		return storage.StoredDeadLetter{}, task.Errorf(task.Conflict, "the task is %s and can be replayed only after it has ended", t.Status)
	}
	ended := storage.StoredDeadLetter{Facts: d.facts}
	ended.ID, ended.Counts = id, d.snapshot.Progress.Counts
	return ended, nil
}

// startReplay starts a replay with the given id, or returns the task that has this id already, and closes the dead letter.
func (e *Engine) startReplay(ctx context.Context, ended storage.StoredDeadLetter, id string, order task.ReplayOrder) (t task.Task, replayed bool, err error) {
	if err := e.checkPrepared(); err != nil {
		return t, false, err
	}
	original := ended.Facts
	input, err := e.Bucket.Get(ctx, original.InputKey)
	if err != nil {
		return t, false, goneIfAbsent(err, "the input of the task")
	}
	facts, in, err := workflows.Replay(original, input, order, id, ended.Counts.Succeeded, time.Now())
	if err != nil {
		return t, false, err
	}
	if err := facts.CheckBudget("/overrides", e.Priced); err != nil {
		return t, false, err
	}
	facts.Queue = e.Queue(facts.Model)
	if err := e.checkFiles(ctx, facts.Tenant, in.FileIDs()); err != nil {
		return t, false, err
	}
	t, err = e.startWorkflow(ctx, facts, in)
	if is[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		t, err = e.existingReplay(ctx, facts)
		replayed = true
	}
	if err == nil {
		err = e.recordReplay(ctx, original.Tenant, original.ID, t)
	}
	return t, replayed, err
}

// existingReplay returns the task that was started earlier with the same id; task.KeyReused if its order was another.
func (e *Engine) existingReplay(ctx context.Context, f record.Facts) (task.Task, error) {
	existing, err := e.describeForTenant(ctx, f.Tenant, f.ID)
	if err != nil {
		return task.Task{}, err
	}
	if existing.facts.BodyHash != f.BodyHash && f.ID != record.ReplayID(f.ReplayOf) {
		return task.Task{}, keyReused(f.ID)
	}
	return e.Get(ctx, f.Tenant, f.ID)
}

// recordReplay closes the dead letter of a task, if it has one, and records its replay. Repeating it changes nothing.
func (e *Engine) recordReplay(ctx context.Context, tenant, id string, t task.Task) error {
	_, err := e.letters().Settle(ctx, tenant, id, func(d *task.DeadLetter) {
		d.Replayed(task.ReplayNote{TaskID: t.ID, At: t.CreatedAt})
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// startWorkflow writes a task's input to the bucket and starts its workflow. If a workflow has this id it returns Temporal's
// WorkflowExecutionAlreadyStarted.
func (e *Engine) startWorkflow(ctx context.Context, f record.Facts, in lifecycle.Input) (task.Task, error) {
	kind, _ := workflows.Find(f.Kind)
	if err := e.Bucket.PutJSON(ctx, f.InputKey, in); err != nil {
		return task.Task{}, task.Errorf(task.Unavailable, "the bucket cannot be written, so no task was started; try again in a moment").Because(err)
	}
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	f.Headline = in.Headline()
	_, err := e.Client.ExecuteWorkflow(ctx, startOptions(kind, f), kind.Name, record.Start[struct{}]{Facts: f})
	if is[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		return task.Task{}, err
	}
	if err != nil {
		return task.Task{}, translateError(err, f.ID)
	}
	return e.build(f, record.FirstSnapshot(len(kind.Steps), f), status{}), nil
}
