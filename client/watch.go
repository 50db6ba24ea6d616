package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"longhaul/internal/task"
)

// longPoll is how long one request of a watch is held open.
const longPoll = "30s"

// Watch follows a task to its end and calls show with every state it sees, the first and the last
// included. It listens to the task's events, and asks again and again, held open until something changes, where these do
// not come through. A server that is away for a while, because it restarts, is borne; the first request is not repeated.
func (c *Client) Watch(ctx context.Context, id string, show func(task.Task)) (task.Task, error) {
	return c.WatchText(ctx, id, show, nil)
}

// WatchText is Watch that also tells of the text that is being written for the task, as far as events come through.
func (c *Client) WatchText(ctx context.Context, id string, show func(task.Task), text func(task.Text)) (task.Task, error) {
	w := &watch{client: c, id: id, onShow: show, onText: text}
	t, err := c.Get(ctx, id)
	if err != nil {
		return t, err
	}
	w.show(t)
	way := w.stream
	trouble := c.newTrouble()
	for !w.now.Done {
		w.streamed = false
		before := w.now.Revision
		err := way(ctx)
		switch {
		case ctx.Err() != nil:
			return w.now, ctx.Err()
		case errors.Is(err, errNoStream):
			way = w.poll
			continue
		case err == nil || w.streamed || w.now.Revision != before:
			trouble = c.newTrouble()
		case !passing(err) || time.Since(trouble.began) > trouble.patience:
			return w.now, err
		}
		if err != nil && !trouble.wait(ctx) {
			return w.now, ctx.Err()
		}
	}
	return w.now, nil
}

// watch is one task being followed.
type watch struct {
	client   *Client
	id       string
	onShow   func(task.Task)
	onText   func(task.Text)
	now      task.Task
	seen     bool
	streamed bool // an event came through
}

// show shows a state, unless it is older than one that was shown: servers may be some milliseconds apart.
func (w *watch) show(t task.Task) {
	if w.seen && t.Revision < w.now.Revision {
		return
	}
	w.now, w.seen = t, true
	w.onShow(t)
}

// poll asks once, and is answered when something has changed.
func (w *watch) poll(ctx context.Context) error {
	t, err := fetch[task.Task](ctx, w.client, get(taskPath(w.id), url.Values{"wait": {longPoll}, "after_revision": {fmt.Sprint(w.now.Revision)}}))
	if err == nil && (t.Revision != w.now.Revision || t.Done) {
		w.show(t)
	}
	return err
}

// trouble is a time without an answer.
type trouble struct {
	began           time.Time
	pause, patience time.Duration
}

func (c *Client) newTrouble() *trouble {
	t := &trouble{began: time.Now(), pause: c.Pause, patience: c.Patience}
	if t.pause == 0 {
		t.pause = 500 * time.Millisecond
	}
	if t.patience == 0 {
		t.patience = 2 * time.Minute
	}
	return t
}

// wait lets some time go by, more each time, and not the same for all who lost the same server.
func (t *trouble) wait(ctx context.Context) bool {
	timer := time.NewTimer(t.pause/2 + rand.N(t.pause))
	defer timer.Stop()
	t.pause = min(2*t.pause, 10*time.Second)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// passing reports whether an error may be over soon.
func passing(err error) bool {
	if _, lost := errors.AsType[*Unreachable](err); lost {
		return true
	}
	e, ours := errors.AsType[*task.Error](err)
	return ours && e.Status >= 500
}
