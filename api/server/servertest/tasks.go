package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"strconv"
	"sync"
	"time"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Tasks are tasks in memory that move only when a test moves them.
type Tasks struct {
	OnCreate func(id string) // called in a goroutine of its own, if set
	NotReady error           // what Ready answers

	mu      sync.Mutex
	records []*record
	changed chan struct{} // closed and replaced with every change

	texts     []written
	listeners int
	waiters   int
}

type record struct {
	task  task.Task
	draft task.Draft
	items []task.Item
	files map[string]string // artifact name to content
}

// NewTasks gives a store with nothing in it.
func NewTasks() *Tasks { return &Tasks{changed: make(chan struct{})} }

// Change changes a task, and raises its revision.
func (f *Tasks) Change(id string, change func(t *task.Task)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		if r.task.ID == id {
			change(&r.task)
			r.task.Done = r.task.Status.Terminal()
			r.task.Revision++
		}
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// Give sets the items and artifacts of a task.
func (f *Tasks) Give(id string, items []task.Item, files map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		if r.task.ID == id {
			r.items, r.files = items, files
		}
	}
}

// Drafts are what tasks were created from, in order.
func (f *Tasks) Drafts() []task.Draft {
	f.mu.Lock()
	defer f.mu.Unlock()
	var drafts []task.Draft
	for _, r := range f.records {
		drafts = append(drafts, r.draft)
	}
	return drafts
}

// Create keeps a task.
func (f *Tasks) Create(_ context.Context, d task.Draft) (task.Task, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		if d.IdempotencyKey == "" || r.draft.Tenant != d.Tenant || r.draft.IdempotencyKey != d.IdempotencyKey {
			continue
		}
		if reflect.DeepEqual(r.draft, d) {
			return r.task, true, nil
		}
		return task.Task{}, false, task.Errorf(task.KeyReused, "the key belongs to another body")
	}
	id := fmt.Sprintf("task-%d", len(f.records)+1)
	now := time.Now().UTC().Truncate(time.Millisecond)
	t := task.Task{
		ID: id, Object: "task", Kind: d.Kind, Status: task.Pending, Revision: 1, CreatedAt: now, UpdatedAt: now,
		Labels: map[string]string{}, InputRequests: map[string]task.InputRequest{}, Tenant: d.Tenant, Priority: max(d.Priority, 1), Model: d.Model, ScheduledAt: d.StartAt, DeadlineAt: d.Deadline, URLs: urls(id),
	}
	maps.Copy(t.Labels, d.Labels)
	f.records = append(f.records, &record{task: t, draft: d})
	if f.OnCreate != nil {
		go f.OnCreate(id)
	}
	return t, false, nil
}

func urls(id string) task.URLs {
	self := "/v1/tasks/" + id
	return task.URLs{
		Self: self, Cancel: self + "/cancel", Input: self + "/input", Result: self + "/result", Items: self + "/items",
		Artifacts: self + "/artifacts", Timeline: self + "/timeline",
	}
}

// find must be called with the lock held.
func (f *Tasks) find(tenant, id string) (*record, error) {
	for _, r := range f.records {
		if r.task.ID == id && r.task.Tenant == tenant {
			return r, nil
		}
	}
	return nil, task.Errorf(task.NotFound, "no task %q", id)
}

// Get shows a task.
func (f *Tasks) Get(_ context.Context, tenant, id string) (task.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(tenant, id)
	if err != nil {
		return task.Task{}, err
	}
	return r.task, nil
}

// Wait waits for a change.
func (f *Tasks) Wait(ctx context.Context, tenant, id string, after int64) (task.Task, error) {
	f.wait(+1)
	defer f.wait(-1)
	for {
		f.mu.Lock()
		r, err := f.find(tenant, id)
		if err != nil {
			f.mu.Unlock()
			return task.Task{}, err
		}
		t, changed := r.task, f.changed
		f.mu.Unlock()
		if t.Done || t.Revision > after {
			return t, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return t, nil
		}
	}
}

// List lists the tasks of a tenant, oldest first, in pages.
func (f *Tasks) List(_ context.Context, tenant string, filter task.Filter) (task.Page[task.Task], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*record
	for _, r := range f.records {
		if r.task.Tenant == tenant && (filter.Status == "" || r.task.Status == filter.Status) && (filter.Kind == "" || r.task.Kind == filter.Kind) && has(r.task.Labels, filter.Labels) {
			all = append(all, r)
		}
	}
	some, err := paged(all, filter.Cursor, filter.Limit)
	page := task.Page[task.Task]{NextCursor: some.NextCursor}
	for _, r := range some.Data {
		page.Data = append(page.Data, r.task)
	}
	return page, err
}

func has(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func paged[T any](all []T, cursor string, limit int) (task.Page[T], error) {
	start := 0
	if cursor != "" {
		var err error
		if start, err = strconv.Atoi(cursor); err != nil || start > len(all) {
			return task.Page[T]{}, task.Errorf(task.Invalid, "the cursor is not one that was given out")
		}
	}
	end := min(start+limit, len(all))
	page := task.Page[T]{Data: all[start:end]}
	if end < len(all) {
		next := strconv.Itoa(end)
		page.NextCursor = &next
	}
	return page, nil
}

// Cancel marks a running task as cancelling.
func (f *Tasks) Cancel(ctx context.Context, tenant, id string) (task.Task, error) {
	t, err := f.Get(ctx, tenant, id)
	if err != nil || t.Done {
		return t, err
	}
	f.Change(id, func(t *task.Task) { t.Status = task.Cancelling })
	return f.Get(ctx, tenant, id)
}

// Input answers a request of a task; one that is not open is a conflict.
func (f *Tasks) Input(ctx context.Context, tenant, id string, reply task.Reply) (task.Task, error) {
	t, err := f.Get(ctx, tenant, id)
	if err != nil {
		return t, err
	}
	if _, open := t.InputRequests[reply.Request]; reply.Request != "" && !open || t.Done {
		return t, task.Errorf(task.Conflict, "the task has no open request %q", reply.Request)
	}
	f.Change(id, func(t *task.Task) {
		t.InputRequests = map[string]task.InputRequest{}
		t.Status, t.Progress.Message = task.Processing, fmt.Sprintf("%s %s%s%s", reply.Action, reply.Reason, reply.Arguments, reply.Text)
	})
	return f.Get(ctx, tenant, id)
}

// Result opens the result of a task that has one.
func (f *Tasks) Result(ctx context.Context, tenant, id string) (*storage.Object, error) {
	t, err := f.Get(ctx, tenant, id)
	switch {
	case err != nil:
		return nil, err
	case !t.Done:
		return nil, task.Errorf(task.NotReady, "the task still runs")
	case t.Result == nil:
		return nil, task.Errorf(task.Conflict, "the task ended without a result: %v", t.Error)
	}
	return object(t.Result), nil
}

func object(data []byte) *storage.Object {
	return &storage.Object{ReadSeekCloser: nopCloser{bytes.NewReader(data)}, Bytes: int64(len(data)), ModTime: time.Unix(1_900_000_000, 0)}
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

// Items lists items.
func (f *Tasks) Items(_ context.Context, tenant, id string, filter task.ItemFilter) (task.Page[task.Item], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(tenant, id)
	if err != nil {
		return task.Page[task.Item]{}, err
	}
	var some []task.Item
	for _, item := range r.items {
		if filter.Status == "" || item.Status == filter.Status {
			some = append(some, item)
		}
	}
	return paged(some, filter.Cursor, filter.Limit)
}

// AllItems gives every item; one of index -1 stands for an error of reading.
func (f *Tasks) AllItems(_ context.Context, tenant, id string) iter.Seq2[task.Item, error] {
	return func(yield func(task.Item, error) bool) {
		f.mu.Lock()
		r, err := f.find(tenant, id)
		f.mu.Unlock()
		if err != nil {
			yield(task.Item{}, err)
			return
		}
		for _, item := range r.items {
			var err error
			if item.Index < 0 {
				err = errors.New("the bucket went away")
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Artifacts lists artifacts.
func (f *Tasks) Artifacts(_ context.Context, tenant, id string) (task.Page[task.Artifact], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(tenant, id)
	if err != nil {
		return task.Page[task.Artifact]{}, err
	}
	page := task.Page[task.Artifact]{}
	for name := range r.files {
		page.Data = append(page.Data, r.artifact(name))
	}
	return page, nil
}

func (r *record) artifact(name string) task.Artifact {
	contentType := "text/markdown; charset=utf-8"
	if name == "page.html" {
		contentType = "text/html; charset=utf-8"
	}
	return task.Artifact{Name: name, ContentType: contentType, Bytes: int64(len(r.files[name])), CreatedAt: r.task.CreatedAt, Href: r.task.URLs.Artifacts + "/" + name}
}

// Artifact opens an artifact.
func (f *Tasks) Artifact(_ context.Context, tenant, id, name string) (task.Artifact, *storage.Object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(tenant, id)
	if err != nil {
		return task.Artifact{}, nil, err
	}
	content, ok := r.files[name]
	if !ok {
		return task.Artifact{}, nil, task.Errorf(task.NotFound, "the task has no artifact %q", name)
	}
	return r.artifact(name), object([]byte(content)), nil
}

// Timeline tells that the task was accepted.
func (f *Tasks) Timeline(_ context.Context, tenant, id, _ string) (task.Page[task.Event], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(tenant, id)
	if err != nil {
		return task.Page[task.Event]{}, err
	}
	return task.Page[task.Event]{Data: []task.Event{{At: r.task.CreatedAt, Type: "accepted", Summary: "accepted"}}}, nil
}

// System tells of one queue with nothing in it.
func (f *Tasks) System(context.Context, string) (task.System, error) {
	return task.System{
		Object: "system", At: time.Now().UTC(), Queues: []task.Queue{{Name: "queue"}},
		Lanes:   []task.LaneState{{Provider: "simulated", Open: true, Limit: 50}},
		Workers: []task.WorkerInfo{{Identity: "1@host", Queues: []string{"queue"}, LastSeen: time.Now().UTC(), Used: new(1), Free: new(49)}},
		Kinds:   []task.KindLoad{{Kind: "summary", Succeeded: 1, P50: new(1.5), P95: new(2.5)}}, Throughput: &task.Throughput{PerMinute: 0.2}, Dead: &task.DeadLoad{Open: 1},
	}, nil
}

// Ready answers NotReady.
func (f *Tasks) Ready(context.Context) error { return f.NotReady }

// Succeed ends a task with a result.
func (f *Tasks) Succeed(id string, result string, outcome task.Outcome) {
	f.Change(id, func(t *task.Task) {
		now := time.Now().UTC()
		t.Status, t.Outcome, t.Result, t.FinishedAt = task.Succeeded, outcome, json.RawMessage(result), &now
	})
}
