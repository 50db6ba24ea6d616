package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"longhaul/internal/task"
)

// longPoll is how long one request of a watch is held open.
const longPoll = "30s"

// Watch follows a task to its end and calls show with every state it sees, the first and the last
// included. A server that is away for a while, because it restarts, is borne; the first request is
// not repeated.
func (c *Client) Watch(ctx context.Context, id string, show func(task.Task)) (task.Task, error) {
	t, err := c.Get(ctx, id)
	if err != nil {
		return t, err
	}
	show(t)
	for !t.Done {
		next, err := c.patiently(ctx, get(taskPath(id), url.Values{"wait": {longPoll}, "after_revision": {fmt.Sprint(t.Revision)}}))
		if err != nil {
			return t, err
		}
		if next.Revision != t.Revision || next.Done {
			show(next)
		}
		t = next
	}
	return t, nil
}

// patiently repeats a call, at growing intervals, while the server cannot be reached.
func (c *Client) patiently(ctx context.Context, q call) (task.Task, error) {
	pause, patience := c.Pause, c.Patience
	if pause == 0 {
		pause = 500 * time.Millisecond
	}
	if patience == 0 {
		patience = 2 * time.Minute
	}
	began := time.Now()
	for {
		t, err := fetch[task.Task](ctx, c, q)
		if err == nil || !passing(err) || time.Since(began) > patience {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, 10*time.Second)
		}
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
