package results

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// KeepItems takes over the succeeded items of the task that a replay keeps them of, at no cost, and returns their
// indexes in order. A retry does the same again. A task that keeps nothing has none.
func (a *Store) KeepItems(ctx context.Context, t record.TaskRef, items int) ([]int, error) {
	if t.Keep == nil {
		return nil, nil
	}
	before, err := a.itemsOf(ctx, t.Keep.ID)
	if err != nil {
		return nil, err
	}
	if len(before) > 0 && len(before) != items {
		return nil, call.Final(task.Errorf(task.Invalid, "the task that is run again has %d items and this one %d, so none can be kept by its place; replay with scope all", len(before), items), record.CallState{})
	}
	var kept []int
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(Parallel)
	for _, item := range before {
		if item.Status != task.ItemSucceeded {
			continue
		}
		item.Usage, item.Attempts, item.Cached = task.Usage{}, 0, true
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err // after the first fault
			}
			return a.WriteItem(ctx, t, item)
		})
		kept = append(kept, item.Index)
	}
	slices.Sort(kept)
	return kept, g.Wait()
}

// itemsOf returns the items of an ended task: its list, or the records if Temporal ended it.
func (a *Store) itemsOf(ctx context.Context, id string) (items []task.Item, err error) {
	object, err := a.Bucket.Object(ctx, storage.ItemsKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		return a.itemRecords(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = object.Close() }()
	lines := json.NewDecoder(object)
	for {
		var item task.Item
		err := lines.Decode(&item)
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

func (a *Store) itemRecords(ctx context.Context, id string) ([]task.Item, error) {
	records, err := a.Bucket.List(ctx, storage.ItemsPrefix(id))
	if err != nil {
		return nil, err
	}
	items := make([]task.Item, len(records))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(Parallel)
	for i, r := range records {
		g.Go(func() error { return a.Bucket.GetJSON(ctx, storage.ItemsPrefix(id)+r.Name, &items[i]) })
	}
	return items, g.Wait()
}
