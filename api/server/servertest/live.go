package servertest

import (
	"context"
	"io"
	"time"

	"longhaul/internal/task"
)

// Write has a text told of to those who listen.
func (f *Tasks) Write(id string, text task.Text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, written{id, text})
	close(f.changed)
	f.changed = make(chan struct{})
}

type written struct {
	id   string
	text task.Text
}

// Listeners is how many feeds are open.
func (f *Tasks) Listeners() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listeners
}

// Waiters is how many long polls wait.
func (f *Tasks) Waiters() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiters
}

func (f *Tasks) wait(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters += n
}

// Events follows a task.
func (f *Tasks) Events(ctx context.Context, tenant, id string, after int64) (task.Feed, error) {
	t, err := f.Get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if after > t.Revision {
		after = 0
	}
	return f.follow(&feed{tasks: f, tenant: tenant, one: id, seen: map[string]int64{id: after}}), nil
}

// AllEvents follows all tasks of a tenant.
func (f *Tasks) AllEvents(_ context.Context, tenant string, _ time.Time) (task.Feed, error) {
	return f.follow(&feed{tasks: f, tenant: tenant, seen: map[string]int64{}}), nil
}

func (f *Tasks) follow(feed *feed) task.Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners++
	return feed
}

type feed struct {
	tasks       *Tasks
	tenant, one string
	seen        map[string]int64
	texts       int
	ended       bool
}

// Close lets go.
func (d *feed) Close() {
	d.tasks.mu.Lock()
	defer d.tasks.mu.Unlock()
	d.tasks.listeners--
}

// Next waits for news.
func (d *feed) Next(ctx context.Context) (task.News, error) {
	for {
		if d.ended {
			return task.News{}, io.EOF
		}
		news, changed := d.look()
		if changed == nil {
			return news, nil
		}
		select {
		case <-ctx.Done():
			return task.News{}, ctx.Err()
		case <-changed:
		}
	}
}

func (d *feed) look() (task.News, <-chan struct{}) {
	d.tasks.mu.Lock()
	defer d.tasks.mu.Unlock()
	for _, r := range d.tasks.records {
		t := r.task
		if t.Tenant != d.tenant || d.one != "" && t.ID != d.one {
			continue
		}
		if t.Revision > d.seen[t.ID] {
			d.seen[t.ID] = t.Revision
			d.ended = d.one != "" && t.Done
			return task.News{Task: &t}, nil
		}
		d.ended = d.one != "" && t.Done
	}
	for ; d.texts < len(d.tasks.texts); d.texts++ {
		if w := d.tasks.texts[d.texts]; w.id == d.one {
			d.texts++
			return task.News{Text: &w.text}, nil
		}
	}
	if d.ended {
		closed := make(chan struct{})
		close(closed)
		return task.News{}, closed
	}
	return task.News{}, d.tasks.changed
}
