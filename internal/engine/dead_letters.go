package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

func (e *Engine) letters() storage.DeadLetters { return storage.NewDeadLetters(e.Bucket) }

// DeadLetters returns a page of a tenant's dead letters, newest first. Without a status in the filter it returns the open ones.
func (e *Engine) DeadLetters(ctx context.Context, tenant string, f task.DeadFilter) (task.Page[task.DeadLetter], error) {
	page := task.Page[task.DeadLetter]{Object: "list", Data: []task.DeadLetter{}}
	if f.Cursor != "" && !storage.IsDeadName(f.Cursor) {
		return page, badCursor()
	}
	if err := e.deadLetterTerminated(ctx, tenant); err != nil {
		return page, err
	}
	limit := pageSize(f.Limit)
	last := ""
	for letter, err := range e.filteredLetters(ctx, tenant, f) {
		if err != nil {
			return page, err
		}
		if len(page.Data) == limit {
			page.NextCursor = &last
			break
		}
		page.Data, last = append(page.Data, letter.DeadLetter), letter.name
	}
	return page, nil
}

// DeadLetter returns the dead letter of a task.
func (e *Engine) DeadLetter(ctx context.Context, tenant, id string) (task.DeadLetter, error) {
	letter, err := e.findLetter(ctx, tenant, id)
	return letter.DeadLetter, err
}

// DeadGroups groups the open dead letters of a tenant by the fingerprint of their failures, most items first.
func (e *Engine) DeadGroups(ctx context.Context, tenant string) (task.Page[task.DeadGroup], error) {
	page := task.Page[task.DeadGroup]{Object: "list", Data: []task.DeadGroup{}}
	if err := e.deadLetterTerminated(ctx, tenant); err != nil {
		return page, err
	}
	groups := map[string]*task.DeadGroup{}
	for letter, err := range e.filteredLetters(ctx, tenant, task.DeadFilter{Status: task.DeadOpen}) {
		if err != nil {
			return page, err
		}
		for _, f := range letter.Failures {
			group := groups[f.Fingerprint]
			if group == nil { // letters come newest first
				group = &task.DeadGroup{
					Fingerprint: f.Fingerprint, Kind: letter.Kind, Step: f.Step, Code: f.Code, Provider: f.Provider, LastSeen: letter.At, Example: letter.ID,
				}
				group.Cause, group.Fix = task.Diagnosis(f.Code)
				groups[f.Fingerprint] = group
			}
			group.Tasks, group.Items, group.FirstSeen = group.Tasks+1, group.Items+f.Count, letter.At
		}
	}
	for _, group := range groups {
		page.Data = append(page.Data, *group)
	}
	slices.SortFunc(page.Data, func(a, b task.DeadGroup) int {
		if a.Items != b.Items {
			return b.Items - a.Items
		}
		return strings.Compare(a.Fingerprint, b.Fingerprint)
	})
	return page, nil
}

// Discard closes a dead letter without a replay. Discarding it again changes nothing, not even the reason.
func (e *Engine) Discard(ctx context.Context, tenant, id, reason string) (task.DeadLetter, error) {
	letter, err := e.findLetter(ctx, tenant, id)
	if err != nil || letter.Status == task.DeadDiscarded {
		return letter.DeadLetter, err
	}
	letter, err = e.letters().Settle(ctx, tenant, id, func(d *task.DeadLetter) { d.Status, d.Reason = task.DeadDiscarded, reason })
	return letter.DeadLetter, err
}

func (e *Engine) findLetter(ctx context.Context, tenant, id string) (storage.StoredDeadLetter, error) {
	if !validID.MatchString(id) {
		return storage.StoredDeadLetter{}, taskNotFound(id)
	}
	letter, err := e.letters().Find(ctx, tenant, id)
	if errors.Is(err, storage.ErrNotFound) {
		return letter, task.Errorf(task.NotFound, "no dead letter of task %q", id)
	}
	return letter, err
}

// namedLetter is a dead letter with its name in the bucket, which serves as its cursor.
type namedLetter struct {
	storage.StoredDeadLetter
	name string
}

// filteredLetters yields the dead letters that match a filter, newest first. It reads readAhead letters at a time, side by side.
func (e *Engine) filteredLetters(ctx context.Context, tenant string, f task.DeadFilter) func(func(namedLetter, error) bool) {
	return func(yield func(namedLetter, error) bool) {
		open := f.Status == "" || f.Status == task.DeadOpen
		var names []string
		for name, err := range e.letters().All(ctx, tenant, open, f.Cursor) {
			if err != nil {
				yield(namedLetter{}, err)
				return
			}
			names = append(names, name)
		}
		for batch := range slices.Chunk(names, readAhead) {
			letters, err := e.readLetters(ctx, tenant, open, batch)
			if err != nil {
				yield(namedLetter{}, err)
				return
			}
			for _, letter := range letters {
				matches := letter.ID != "" && letter.Match(f.Kind, f.Fingerprint) && (f.Status == "" || letter.Status == f.Status)
				if matches && !yield(letter, nil) {
					return
				}
			}
		}
	}
}

// readLetters reads dead letters side by side. A letter that was closed or removed since it was listed stays zero.
func (e *Engine) readLetters(ctx context.Context, tenant string, open bool, names []string) ([]namedLetter, error) {
	letters := make([]namedLetter, len(names))
	g, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		g.Go(func() error {
			letter, err := e.letters().Read(ctx, tenant, open, name)
			letters[i] = namedLetter{letter, name}
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	return letters, g.Wait()
}

// deadLetterTerminated writes dead letters for tasks that were terminated in Temporal, since their workflows could not. It starts
// with the oldest, so that after an error the rest is still on the first page of the next call.
func (e *Engine) deadLetterTerminated(ctx context.Context, tenant string) error {
	if err := e.checkPrepared(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	ids, err := e.terminatedWithoutLetter(ctx, tenant)
	if err != nil {
		return translateError(err, "")
	}
	for _, id := range slices.Backward(ids) {
		d, err := e.describe(ctx, id)
		if err == nil && !d.status.open() {
			err = e.writeLetter(ctx, d)
		}
		if err != nil && task.AsError(err).Code != task.NotFound { // not found: deleted in Temporal since it was listed
			return err
		}
	}
	return nil
}

// terminatedWithoutLetter returns the tasks that were terminated in Temporal and have no dead letter, newest first. It stops at a page on which all
// have one. Child tasks and bulk replays get no dead letter, as when they fail by themselves.
func (e *Engine) terminatedWithoutLetter(ctx context.Context, tenant string) (ids []string, err error) {
	query := record.AttrTenant.GetName() + " = " + quote(tenant) + " AND ExecutionStatus IN ('Terminated', 'TimedOut')"
	for token := []byte(nil); ; {
		answer, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: e.Namespace, PageSize: task.MaxPage, NextPageToken: token, Query: query,
		})
		if err != nil {
			return nil, err
		}
		var ended []string
		for _, execution := range answer.GetExecutions() {
			if t, ok := e.taskOfExecution(execution); ok && t.Parent == "" && t.Kind != record.KindReplay {
				ended = append(ended, t.ID)
			}
		}
		missing, err := e.withoutLetter(ctx, tenant, ended)
		if err != nil {
			return nil, err
		}
		ids = append(ids, missing...)
		if token = answer.GetNextPageToken(); len(token) == 0 || len(ended) > 0 && len(missing) == 0 {
			return ids, nil
		}
	}
}

// withoutLetter returns the ids that have no dead letter, in the order given.
func (e *Engine) withoutLetter(ctx context.Context, tenant string, ids []string) ([]string, error) {
	has := make([]bool, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAhead)
	for i, id := range ids {
		g.Go(func() (err error) {
			has[i], err = e.letters().Has(ctx, tenant, id)
			return err
		})
	}
	err := g.Wait()
	var missing []string
	for i, id := range ids {
		if !has[i] {
			missing = append(missing, id)
		}
	}
	return missing, err
}

// writeLetter writes the dead letter of a task that was terminated in Temporal.
func (e *Engine) writeLetter(ctx context.Context, d description) error {
	t := e.build(d.facts, d.snapshot, d.status)
	return e.letters().Write(ctx, t.Tenant, storage.StoredDeadLetter{Facts: d.facts, DeadLetter: results.DeadLetter(results.DeadLetterRequest{
		Facts: d.facts, At: d.status.closeTime.UTC(), Error: t.Error, Usage: t.Usage,
		Finished: results.Finished{Outcome: t.Outcome, Counts: t.Progress.Counts},
	})})
}
