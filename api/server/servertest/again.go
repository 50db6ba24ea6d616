package servertest

import (
	"context"

	"longhaul/internal/task"
)

// Pause holds a task.
func (f *Tasks) Pause(ctx context.Context, tenant, id, _ string) (task.Task, error) {
	return f.move(ctx, tenant, id, task.Paused)
}

// Resume lets a task go on.
func (f *Tasks) Resume(ctx context.Context, tenant, id string) (task.Task, error) {
	return f.move(ctx, tenant, id, task.Processing)
}

func (f *Tasks) move(ctx context.Context, tenant, id string, to task.State) (task.Task, error) {
	t, err := f.Get(ctx, tenant, id)
	switch {
	case err != nil:
		return t, err
	case t.Done:
		return t, task.Errorf(task.Conflict, "the task is %s", t.Status)
	}
	f.Change(id, func(t *task.Task) { t.Status = to })
	return f.Get(ctx, tenant, id)
}

// Replay starts a task of the same draft.
func (f *Tasks) Replay(ctx context.Context, tenant, id, key string, order task.ReplayOrder) (task.Task, bool, error) {
	f.mu.Lock()
	r, err := f.find(tenant, id)
	f.mu.Unlock()
	switch {
	case err != nil:
		return task.Task{}, false, err
	case !r.task.Done:
		return task.Task{}, false, task.Errorf(task.Conflict, "the task is %s", r.task.Status)
	}
	d := r.draft
	d.IdempotencyKey = key
	t, replayed, err := f.Create(ctx, d)
	f.Change(t.ID, func(t *task.Task) { t.ReplayOf, t.Replay = id, &task.ReplayInfo{Of: id, Scope: order.Scope} })
	return t, replayed, err
}

// DeadLetters are the tasks that failed.
func (f *Tasks) DeadLetters(_ context.Context, tenant string, filter task.DeadFilter) (task.Page[task.DeadLetter], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []task.DeadLetter
	for _, r := range f.records {
		if d := letter(r.task); r.task.Tenant == tenant && r.task.Status == task.Failed && d.Match(filter.Kind, filter.Fingerprint) {
			all = append(all, d)
		}
	}
	return paged(all, filter.Cursor, filter.Limit)
}

func letter(t task.Task) task.DeadLetter {
	d := task.DeadLetter{ID: t.ID, Object: "dead_letter", Status: task.DeadOpen, Outcome: task.None, Kind: t.Kind, At: t.UpdatedAt, Labels: map[string]string{}, Error: t.Error, Replays: []task.ReplayNote{}}
	d.Failures = task.CountFailure(nil, task.FailedItem{Error: t.Error})
	d.Failures[0].Fingerprint = task.Fingerprint(t.Kind, t.Error.Step, t.Error.Code, "")
	d.Cause, d.Fix = task.Diagnosis(t.Error.Code)
	return d
}

// DeadGroups are none.
func (f *Tasks) DeadGroups(context.Context, string) (task.Page[task.DeadGroup], error) {
	return task.Page[task.DeadGroup]{Object: "list", Data: []task.DeadGroup{}}, nil
}

// DeadLetter is that of a task that failed.
func (f *Tasks) DeadLetter(_ context.Context, tenant, id string) (task.DeadLetter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(tenant, id)
	if err != nil || r.task.Status != task.Failed {
		return task.DeadLetter{}, task.Errorf(task.NotFound, "no dead letter of task %q", id)
	}
	return letter(r.task), nil
}

// ReplayDead is Replay with a key of its own.
func (f *Tasks) ReplayDead(ctx context.Context, tenant, id string, order task.ReplayOrder) (task.Task, bool, error) {
	return f.Replay(ctx, tenant, id, "replay of "+id, order)
}

// Discard changes nothing.
func (f *Tasks) Discard(ctx context.Context, tenant, id, reason string) (task.DeadLetter, error) {
	d, err := f.DeadLetter(ctx, tenant, id)
	d.Status, d.Reason = task.DeadDiscarded, reason
	return d, err
}
