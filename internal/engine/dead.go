package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

func (e *Engine) letters() storage.DeadLetters { return storage.NewDeadLetters(e.Bucket) }

// DeadLetters gives a page of a tenant's dead letters, the newest first: the open ones, unless the filter asks for those that were dealt with.
func (e *Engine) DeadLetters(ctx context.Context, tenant string, f task.DeadFilter) (task.Page[task.DeadLetter], error) {
	page := task.Page[task.DeadLetter]{Object: "list", Data: []task.DeadLetter{}}
	if f.Cursor != "" && !storage.IsDeadName(f.Cursor) {
		return page, badCursor()
	}
	if err := e.buryTerminated(ctx, tenant); err != nil {
		return page, err
	}
	limit := pageSize(f.Limit)
	last := ""
	for g, err := range e.read(ctx, tenant, f) {
		if err != nil {
			return page, err
		}
		if len(page.Data) == limit {
			page.NextCursor = &last
			break
		}
		page.Data, last = append(page.Data, g.DeadLetter), g.name
	}
	return page, nil
}

// DeadLetter gives the dead letter of a task.
func (e *Engine) DeadLetter(ctx context.Context, tenant, id string) (task.DeadLetter, error) {
	g, err := e.dead(ctx, tenant, id)
	return g.DeadLetter, err
}

// DeadGroups puts the open dead letters together by what went wrong, those with the most items first.
func (e *Engine) DeadGroups(ctx context.Context, tenant string) (task.Page[task.DeadGroup], error) {
	page := task.Page[task.DeadGroup]{Object: "list", Data: []task.DeadGroup{}}
	if err := e.buryTerminated(ctx, tenant); err != nil {
		return page, err
	}
	groups := map[string]*task.DeadGroup{}
	for g, err := range e.read(ctx, tenant, task.DeadFilter{Status: task.DeadOpen}) {
		if err != nil {
			return page, err
		}
		for _, f := range g.Failures {
			known := groups[f.Fingerprint]
			if known == nil { // the newest: they come in that order
				known = &task.DeadGroup{
					Fingerprint: f.Fingerprint, Kind: g.Kind, Step: f.Step, Code: f.Code, Provider: f.Provider, LastSeen: g.At, Example: g.ID,
				}
				known.Cause, known.Fix = task.Diagnosis(f.Code)
				groups[f.Fingerprint] = known
			}
			known.Tasks, known.Items, known.FirstSeen = known.Tasks+1, known.Items+f.Count, g.At
		}
	}
	for _, g := range groups {
		page.Data = append(page.Data, *g)
	}
	slices.SortFunc(page.Data, func(a, b task.DeadGroup) int {
		if a.Items != b.Items {
			return b.Items - a.Items
		}
		return strings.Compare(a.Fingerprint, b.Fingerprint)
	})
	return page, nil
}

// Discard lets a dead letter go. One that was discarded before stays as it is.
func (e *Engine) Discard(ctx context.Context, tenant, id, reason string) (task.DeadLetter, error) {
	g, err := e.dead(ctx, tenant, id)
	if err != nil || g.Status == task.DeadDiscarded {
		return g.DeadLetter, err
	}
	g, err = e.letters().Settle(ctx, tenant, id, func(d *task.DeadLetter) { d.Status, d.Reason = task.DeadDiscarded, reason })
	return g.DeadLetter, err
}

func (e *Engine) dead(ctx context.Context, tenant, id string) (storage.StoredDeadLetter, error) {
	if !validID.MatchString(id) {
		return storage.StoredDeadLetter{}, missing(id)
	}
	g, err := e.letters().Find(ctx, tenant, id)
	if errors.Is(err, storage.ErrNotFound) {
		return g, task.Errorf(task.NotFound, "no dead letter of task %q", id)
	}
	return g, err
}

// named is a dead letter and its name in the bucket, which is its cursor.
type named struct {
	storage.StoredDeadLetter
	name string
}

// read gives the dead letters that a filter lets through, the newest first. They are read ahead, some side by side.
func (e *Engine) read(ctx context.Context, tenant string, f task.DeadFilter) func(func(named, error) bool) {
	return func(yield func(named, error) bool) {
		open := f.Status == "" || f.Status == task.DeadOpen
		var names []string
		for name, err := range e.letters().All(ctx, tenant, open, f.Cursor) {
			if err != nil {
				yield(named{}, err)
				return
			}
			names = append(names, name)
		}
		for part := range slices.Chunk(names, readAhead) {
			graves, err := e.graves(ctx, tenant, open, part)
			if err != nil {
				yield(named{}, err)
				return
			}
			for _, g := range graves {
				fits := g.ID != "" && g.Match(f.Kind, f.Fingerprint) && (f.Status == "" || g.Status == f.Status)
				if fits && !yield(g, nil) {
					return
				}
			}
		}
	}
}

// graves reads dead letters side by side. One that was dealt with in the meantime is empty.
func (e *Engine) graves(ctx context.Context, tenant string, open bool, names []string) ([]named, error) {
	graves := make([]named, len(names))
	g, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		g.Go(func() error {
			grave, err := e.letters().Read(ctx, tenant, open, name)
			graves[i] = named{grave, name}
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	return graves, g.Wait()
}

// buryTerminated puts tasks among the dead letters whose workflows were ended from outside, and could not do so themselves. It begins with the
// oldest: what it does not come to is on the first page of the next time.
func (e *Engine) buryTerminated(ctx context.Context, tenant string) error {
	if err := e.prepared(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	found, err := e.terminated(ctx, tenant)
	if err != nil {
		return words(err, "")
	}
	for _, id := range slices.Backward(found) {
		d, err := e.look(ctx, id)
		if err == nil && !d.status.open() {
			err = e.bury(ctx, d)
		}
		if err != nil && task.AsError(err).Code != task.NotFound { // Temporal has forgotten it since
			return err
		}
	}
	return nil
}

// terminated finds the tasks that were ended from outside and are no dead letters yet, the newest first, up to a page on which all are. As in
// workflows, one that works for another is none, nor is a bulk replay. Where nothing was ended so, the bucket is not asked.
func (e *Engine) terminated(ctx context.Context, tenant string) (ids []string, err error) {
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
			if t, ok := e.inList(execution); ok && t.Parent == "" && t.Kind != record.KindReplay {
				ended = append(ended, t.ID)
			}
		}
		lost, err := e.unburied(ctx, tenant, ended)
		if err != nil {
			return nil, err
		}
		ids = append(ids, lost...)
		if token = answer.GetNextPageToken(); len(token) == 0 || len(ended) > 0 && len(lost) == 0 {
			return ids, nil
		}
	}
}

// unburied gives those of some tasks that are no dead letters, in their order.
func (e *Engine) unburied(ctx context.Context, tenant string, ids []string) ([]string, error) {
	known := make([]bool, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAhead)
	for i, id := range ids {
		g.Go(func() (err error) {
			known[i], err = e.letters().Has(ctx, tenant, id)
			return err
		})
	}
	err := g.Wait()
	var lost []string
	for i, id := range ids {
		if !known[i] {
			lost = append(lost, id)
		}
	}
	return lost, err
}
