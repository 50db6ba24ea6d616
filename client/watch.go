package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// longPoll is how long a watch without event streams waits in one request.
const longPoll = 30 * time.Second

// Watch follows a task to its end and calls show with every state it receives, the first and the last included. A slow show
// misses states in between, never the last.
//
// Watch reads the event stream of the task, and uses long polls where a proxy holds streams back. After the first request it
// repeats those that fail with NoAnswer or an error of the server, for RetryFor. With an error it returns the last state it has
// received.
func (c *Client) Watch(ctx context.Context, id string, show func(Task)) (Task, error) {
	return c.WatchText(ctx, id, show, nil)
}

// WatchText is Watch that also calls text with what a model is writing for the task, where events arrive as a stream.
func (c *Client) WatchText(ctx context.Context, id string, show func(Task), text func(Text)) (Task, error) {
	w := &watch{client: c, id: id, onTask: show, onText: text}
	t, err := c.Get(ctx, id)
	if err != nil {
		return t, err
	}
	w.show(t)
	follow := w.stream
	outage := c.newOutage()
	for !w.last.Done {
		w.streamed = false
		before := w.last.Revision
		err := follow(ctx)
		switch {
		case ctx.Err() != nil:
			return w.last, ctx.Err()
		case errors.Is(err, errNoStream):
			follow = w.poll
			continue
		case err == nil || w.streamed || w.last.Revision != before:
			outage = c.newOutage()
		case !transient(err) || outage.over():
			return w.last, err
		}
		if err != nil && !outage.wait(ctx) {
			return w.last, ctx.Err()
		}
	}
	return w.last, nil
}

// watch is one task being followed.
type watch struct {
	client   *Client
	id       string
	onTask   func(Task)
	onText   func(Text)
	last     Task // the newest state received
	shown    bool // last has been set
	streamed bool // an event has arrived
}

// show passes a state on, unless it is older than the last one: replicas of the API may be some milliseconds apart.
func (w *watch) show(t Task) {
	if w.shown && t.Revision < w.last.Revision {
		return
	}
	w.last, w.shown = t, true
	w.onTask(t)
}

// poll waits for the next change in one request.
func (w *watch) poll(ctx context.Context) error {
	t, err := w.client.Wait(ctx, w.id, w.last.Revision, longPoll)
	if err == nil && (t.Revision != w.last.Revision || t.Done) {
		w.show(t)
	}
	return err
}

// stream reads the task's events until its end, an error or a silence.
func (w *watch) stream(ctx context.Context) error {
	return w.client.readEvents(ctx, taskPath(w.id, "events"), strconv.FormatInt(w.last.Revision, 10), func(e event) error {
		w.streamed = true
		switch e.name {
		case "task":
			t, err := w.client.decodeTask(e)
			if err != nil {
				return err
			}
			w.show(t)
		case "text":
			var text Text
			if w.onText != nil && json.Unmarshal(e.data, &text) == nil {
				w.onText(text)
			}
		}
		return nil
	})
}

// WatchAll follows all tasks of the tenant until ctx ends, and calls show with every task that runs, and then with every task
// that is new or changes. The tasks have no results: Get returns them. WatchAll repeats requests as Watch does, and misses no end
// of a task that comes meanwhile. It needs an event stream: where a proxy holds streams back it fails with NoAnswer.
func (c *Client) WatchAll(ctx context.Context, show func(Task)) error {
	lastID, streamed := "", false
	outage := c.newOutage()
	for {
		err := c.readEvents(ctx, "/v1/events", lastID, func(e event) error {
			streamed = true
			outage = c.newOutage()
			if e.id != "" {
				lastID = e.id
			}
			if e.name != "task" {
				return nil
			}
			t, err := c.decodeTask(e)
			if err == nil {
				show(t)
			}
			return err
		})
		hidden := errors.Is(err, errNoStream)
		if hidden {
			err = c.noAnswer(ctx, err)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case hidden && !streamed, err != nil && (!transient(err) || outage.over()):
			return err
		}
		outage.wait(ctx)
	}
}

func (c *Client) decodeTask(e event) (t Task, err error) {
	if err := json.Unmarshal(e.data, &t); err != nil {
		return t, c.noAnswer(context.Background(), fmt.Errorf("the event is not from longhaul: %w", err))
	}
	return t, nil
}

// outage is a time in which requests fail.
type outage struct {
	began           time.Time
	delay, patience time.Duration
}

func (c *Client) newOutage() *outage {
	o := &outage{began: time.Now(), delay: c.RetryDelay, patience: c.RetryFor}
	if o.delay == 0 {
		o.delay = 500 * time.Millisecond
	}
	if o.patience == 0 {
		o.patience = 2 * time.Minute
	}
	return o
}

func (o *outage) over() bool { return time.Since(o.began) > o.patience }

// wait waits before the next request: longer each time, and with jitter, so that the clients of a restarted server do not return
// at once. It returns false when ctx ends first.
func (o *outage) wait(ctx context.Context) bool {
	timer := time.NewTimer(o.delay/2 + rand.N(o.delay))
	defer timer.Stop()
	o.delay = min(2*o.delay, 10*time.Second)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
