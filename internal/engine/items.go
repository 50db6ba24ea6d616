package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"mime"
	"path"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	rowsacts "longhaul/activities/rows"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// Items returns a page of a task's items in the order of the input, also while the task runs: an item without an outcome is pending.
func (e *Engine) Items(ctx context.Context, tenant, id string, f task.ItemFilter) (task.Page[task.Item], error) {
	page := task.Page[task.Item]{Object: "list", Data: []task.Item{}}
	first := 0
	if f.Cursor != "" {
		var err error
		if first, err = strconv.Atoi(f.Cursor); err != nil || first < 0 {
			return page, badCursor()
		}
	}
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil {
		return page, err
	}
	limit := pageSize(f.Limit)
	for item, err := range e.items(ctx, d, first) {
		if err != nil {
			return page, err
		}
		if f.Status != "" && item.Status != f.Status {
			continue
		}
		if len(page.Data) == limit {
			page.NextCursor = new(strconv.Itoa(item.Index))
			break
		}
		page.Data = append(page.Data, item)
	}
	return page, nil
}

// AllItems yields every item of a task in the order of the input.
func (e *Engine) AllItems(ctx context.Context, tenant, id string) iter.Seq2[task.Item, error] {
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil {
		return func(yield func(task.Item, error) bool) { yield(task.Item{}, err) }
	}
	return e.items(ctx, d, 0)
}

// items yields the items of a task from index first on, from wherever its kind stores them.
func (e *Engine) items(ctx context.Context, d description, first int) iter.Seq2[task.Item, error] {
	t := e.build(d.facts, d.snapshot, d.status)
	if kind, ok := workflows.Find(t.Kind); ok && kind.HasRows {
		return e.rowItems(ctx, d, t, first)
	}
	return e.storedItems(ctx, t, first)
}

// rowItems yields the items of a task over rows. Once the task has ended, rows without an outcome get the outcome of the task.
func (e *Engine) rowItems(ctx context.Context, d description, t task.Task, first int) iter.Seq2[task.Item, error] {
	job := rowsacts.RowsJob{
		Task: record.TaskRef{ID: t.ID, Tenant: t.Tenant, Lineage: d.facts.Lineage, Model: t.Model}, Kind: t.Kind, InputKey: d.facts.InputKey,
	}
	return func(yield func(task.Item, error) bool) {
		for item, err := range rowsacts.RowItems(ctx, e.Bucket, job, first) {
			if t.Done && item.Status == task.ItemPending {
				item.Status, item.Error = task.ItemFailed, t.Error
				if t.Status == task.Cancelled {
					item.Status = task.ItemCancelled
				}
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// storedItems yields items from the list that is written when a task ends, or from single records while there is no list.
func (e *Engine) storedItems(ctx context.Context, t task.Task, first int) iter.Seq2[task.Item, error] {
	return func(yield func(task.Item, error) bool) {
		if t.Done {
			data, err := e.Bucket.Get(ctx, storage.ItemsKey(t.ID))
			if err == nil {
				yieldLines(data, first, yield)
				return
			}
			if !errors.Is(err, storage.ErrNotFound) {
				yield(task.Item{}, err)
				return
			}
		}
		e.yieldRecords(ctx, t, first, yield)
	}
}

func yieldLines(data []byte, first int, yield func(task.Item, error) bool) {
	lines := bufio.NewReader(bytes.NewReader(data))
	decoder := json.NewDecoder(lines)
	for decoder.More() {
		var item task.Item
		err := decoder.Decode(&item)
		if item.Index < first && err == nil {
			continue
		}
		if !yield(item, err) || err != nil {
			return
		}
	}
}

// readAhead is how many records of the bucket are read side by side.
const readAhead = 32

func (e *Engine) yieldRecords(ctx context.Context, t task.Task, first int, yield func(task.Item, error) bool) {
	total := t.Progress.Counts.Total
	for ; first < total; first += readAhead {
		batch := make([]task.Item, min(readAhead, total-first))
		g, ctx := errgroup.WithContext(ctx)
		for i := range batch {
			g.Go(func() error { return e.readRecord(ctx, t.ID, first+i, &batch[i]) })
		}
		if err := g.Wait(); err != nil {
			yield(task.Item{}, err)
			return
		}
		for _, item := range batch {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// readRecord reads the record of an item; without a record the item is pending.
func (e *Engine) readRecord(ctx context.Context, id string, index int, item *task.Item) error {
	err := e.Bucket.GetJSON(ctx, storage.ItemKey(id, index), item)
	if errors.Is(err, storage.ErrNotFound) {
		*item = task.Item{ID: strconv.Itoa(index), Index: index, Status: task.ItemPending}
		return nil
	}
	return err
}

// Result opens the result of an ended task, full or partial; the caller closes it. While the task runs it is task.NotReady, and for a task
// that ended without a result task.Conflict with the reason.
func (e *Engine) Result(ctx context.Context, tenant, id string) (*storage.Object, error) {
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	t := e.build(d.facts, d.snapshot, d.status)
	switch {
	case !t.Done:
		return nil, task.Errorf(task.NotReady, "the task is %s; finished items are under %s", t.Status, t.URLs.Items)
	case d.snapshot.Result == nil && t.Error != nil:
		return nil, task.Errorf(task.Conflict, "the task ended without a result: %s", t.Error.Detail)
	case d.snapshot.Result == nil:
		return nil, task.Errorf(task.Conflict, "the task ended without a result")
	}
	object, err := e.Bucket.Object(ctx, storage.ResultKey(id))
	return object, goneIfAbsent(err, "the result")
}

// Artifacts lists the files that a task has produced so far.
func (e *Engine) Artifacts(ctx context.Context, tenant, id string) (task.Page[task.Artifact], error) {
	page := task.Page[task.Artifact]{Object: "list", Data: []task.Artifact{}}
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil {
		return page, err
	}
	entries, err := e.Bucket.List(ctx, storage.ArtifactsPrefix(id))
	for _, entry := range entries {
		page.Data = append(page.Data, e.describeArtifact(d, entry.Name, entry.Bytes, entry.ModTime))
	}
	return page, err
}

// Artifact opens a file that a task has produced; the caller closes it.
func (e *Engine) Artifact(ctx context.Context, tenant, id, name string) (task.Artifact, *storage.Object, error) {
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil {
		return task.Artifact{}, nil, err
	}
	notFound := task.Errorf(task.NotFound, "the task has no artifact %q", name)
	if !storage.ArtifactName(name) {
		return task.Artifact{}, nil, notFound
	}
	object, err := e.Bucket.Object(ctx, storage.ArtifactKey(id, name))
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return task.Artifact{}, nil, notFound
	case err != nil:
		return task.Artifact{}, nil, err
	}
	return e.describeArtifact(d, name, object.Bytes, object.ModTime), object, nil
}

func (e *Engine) describeArtifact(d description, name string, bytes int64, at time.Time) task.Artifact {
	return task.Artifact{Name: name, ContentType: contentType(name), Bytes: bytes, CreatedAt: at.UTC(), Href: e.urls(d.facts.ID).Artifacts + "/" + name}
}

// goneIfAbsent turns the error of a missing object into task.Gone; object names it for the user.
func goneIfAbsent(err error, object string) error {
	if errors.Is(err, storage.ErrNotFound) {
		return task.Errorf(task.Gone, "%s has been removed from the bucket", object)
	}
	return err
}

// contentType returns the media type of an artifact by the extension of its name, which longhaul chose.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".md":
		return "text/markdown; charset=utf-8"
	case ".jsonl":
		return "application/jsonl"
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".mp4":
		return "video/mp4"
	case ".webm":
		return "video/webm"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
