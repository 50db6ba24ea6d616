package engine

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"

	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
	"longhaul/workflows/lifecycle"
)

// Replay runs a task that has ended again, as a new task of its lineage: every answer that was paid for is reused. With an idempotency key the same
// order gives the same task. A task whose history Temporal no longer has can be run again as long as it is a dead letter.
func (e *Engine) Replay(ctx context.Context, tenant, id, key string, order task.ReplayOrder) (t task.Task, replayed bool, err error) {
	g, err := e.ended(ctx, tenant, id)
	if err != nil {
		return t, false, err
	}
	return e.again(ctx, g, newID(task.Draft{Tenant: tenant, IdempotencyKey: key}), order)
}

// ReplayDead runs a dead letter again. However often that is asked for, and by whom, it is run again once.
func (e *Engine) ReplayDead(ctx context.Context, tenant, id string, order task.ReplayOrder) (t task.Task, replayed bool, err error) {
	g, err := e.dead(ctx, tenant, id)
	if err != nil {
		return t, false, err
	}
	if g.Status == task.DeadDiscarded {
		return t, false, task.Errorf(task.Conflict, "the dead letter was discarded: %s. To run the task again all the same, use /v1/tasks/%s/replay", g.Reason, id)
	}
	replay := record.ReplayID(id)
	switch t, err := e.Get(ctx, tenant, replay); {
	case err == nil:
		return t, true, e.noteReplay(ctx, tenant, id, t) // whoever started it may not have come to that
	case task.AsError(err).Code != task.NotFound:
		return t, false, err
	case g.ReplayedBy(replay):
		return t, false, task.Errorf(task.Gone, "it was run again by %s, of which nothing is left in Temporal. To run the task again all the same, use /v1/tasks/%s/replay", replay, id)
	}
	return e.again(ctx, g, replay, order)
}

// ended is what is needed to run a task again.
func (e *Engine) ended(ctx context.Context, tenant, id string) (storage.StoredDeadLetter, error) {
	d, err := e.describe(ctx, tenant, id)
	if err != nil && task.AsError(err).Code == task.NotFound {
		return e.dead(ctx, tenant, id) // Temporal may have forgotten it
	}
	if err != nil {
		return storage.StoredDeadLetter{}, err
	}
	if d.status.open() {
		t := e.build(d.facts, d.snapshot, d.status)
		return storage.StoredDeadLetter{}, task.Errorf(task.Conflict, "the task is %s; it can be run again when it has ended", t.Status)
	}
	g := storage.StoredDeadLetter{Facts: d.facts}
	g.ID, g.Counts = id, d.snapshot.Progress.Counts
	return g, nil
}

// again starts a task that runs another one again.
func (e *Engine) again(ctx context.Context, g storage.StoredDeadLetter, id string, order task.ReplayOrder) (t task.Task, replayed bool, err error) {
	if err := e.prepared(); err != nil {
		return t, false, err
	}
	before := g.Facts
	input, err := e.Bucket.Get(ctx, before.InputKey)
	if err != nil {
		return t, false, gone(err, "the input of the task")
	}
	facts, in, err := workflows.Replay(before, input, order, id, g.Counts.Succeeded, time.Now())
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
	t, err = e.start(ctx, facts, in)
	if is[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		t, err = e.sameOrder(ctx, facts)
		replayed = true
	}
	if err == nil {
		err = e.noteReplay(ctx, before.Tenant, before.ID, t)
	}
	return t, replayed, err
}

// sameOrder is the task that was started earlier with the same id, if it was from the same order.
func (e *Engine) sameOrder(ctx context.Context, f record.Facts) (task.Task, error) {
	was, err := e.describe(ctx, f.Tenant, f.ID)
	if err != nil {
		return task.Task{}, err
	}
	if was.facts.BodyHash != f.BodyHash && f.ID != record.ReplayID(f.ReplayOf) {
		return task.Task{}, keyReused(f.ID)
	}
	return e.Get(ctx, f.Tenant, f.ID)
}

// noteReplay takes the dead letter of a task, if there is one, out of the open ones.
func (e *Engine) noteReplay(ctx context.Context, tenant, id string, t task.Task) error {
	_, err := e.letters().Settle(ctx, tenant, id, func(d *task.DeadLetter) {
		d.Replayed(task.ReplayNote{TaskID: t.ID, At: t.CreatedAt})
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// start lays a task's input into the bucket and starts its workflow. Temporal's own error tells that there is one with this id.
func (e *Engine) start(ctx context.Context, f record.Facts, in lifecycle.Input) (task.Task, error) {
	kind, _ := workflows.Find(f.Kind)
	if err := e.Bucket.PutJSON(ctx, f.InputKey, in); err != nil {
		return task.Task{}, task.Errorf(task.Unavailable, "the bucket cannot be written; nothing was started, try again in a moment").Because(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	f.Headline = in.Headline()
	_, err := e.Client.ExecuteWorkflow(ctx, startOptions(kind, f), kind.Name, record.Start[struct{}]{Facts: f})
	if is[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		return task.Task{}, err
	}
	if err != nil {
		return task.Task{}, words(err, f.ID)
	}
	return e.build(f, record.FirstSnapshot(len(kind.Steps), f), status{}), nil
}

// bury keeps a task among the dead letters that could not do so itself: its workflow was ended from outside.
func (e *Engine) bury(ctx context.Context, d description) error {
	t := e.build(d.facts, d.snapshot, d.status)
	return e.letters().Write(ctx, t.Tenant, storage.StoredDeadLetter{Facts: d.facts, DeadLetter: results.DeadLetter(results.DeadLetterRequest{
		Facts: d.facts, At: d.status.closeTime.UTC(), Error: t.Error, Usage: t.Usage,
		Finished: results.Finished{Outcome: t.Outcome, Counts: t.Progress.Counts},
	})})
}
