package engine

import (
	"context"
	"io"
	"slices"
	"time"

	"longhaul/internal/task"
)

// Events returns a feed of a task's states with a revision higher than after, the present state first, and of the texts that are being
// written for it. The feed ends with io.EOF after the task has ended; an after above the task's own revision counts as 0.
func (e *Engine) Events(ctx context.Context, tenant, id string, after int64) (task.Feed, error) {
	s, err := e.tenantSnapshot(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if after > s.task.Revision { // another API process may have sent a revision that is not in this cache yet
		if s, err = e.readSnapshot(ctx, id); err != nil {
			return nil, err
		}
	}
	if after > s.task.Revision {
		after = 0
	}
	return &feed{engine: e, id: id, release: e.retain(id), after: after, texts: map[int]*sentText{}}, nil
}

// feed follows one task for one listener. It has no queue: each call of Next compares the task with the state that was sent last, so a
// slow listener skips states.
type feed struct {
	engine  *Engine
	id      string
	release func()

	after int64     // revision that was sent last
	last  task.Task // state that was sent last, or the first snapshot if none was
	texts map[int]*sentText
	ready []task.News // news of the last snapshot that is not sent yet
	ended bool
}

// Close ends the feed; Next must not be called afterwards.
func (f *feed) Close() { f.release() }

// Next waits for news. While Temporal is unavailable it keeps waiting; io.EOF follows the last state of an ended task.
func (f *feed) Next(ctx context.Context) (task.News, error) {
	for {
		if len(f.ready) > 0 {
			news := f.ready[0]
			f.ready = f.ready[1:]
			return news, nil
		}
		if f.ended {
			return task.News{}, io.EOF
		}
		changed, interval := f.engine.views.changeSignal(f.id), f.engine.views.refreshInterval(f.id)
		s, err := f.engine.snapshot(ctx, f.id)
		switch {
		case ctx.Err() != nil:
			return task.News{}, ctx.Err()
		case err != nil && task.AsError(err).Code != task.Unavailable:
			return task.News{}, err
		case err == nil:
			f.collect(ctx, s)
		}
		if len(f.ready) > 0 || f.ended {
			continue
		}
		timer := time.NewTimer(interval)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-untilStart(s.task):
		case <-timer.C:
		}
		timer.Stop()
	}
}

// refreshInterval returns how often a listener asks for new details, whose changes no history records.
func (c *viewCache) refreshInterval(id string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.detailsMaxAge(c.getOrCreate(id)) + 10*time.Millisecond
}

// collect appends to ready what a snapshot has and the listener does not.
func (f *feed) collect(ctx context.Context, s taskSnapshot) {
	t := s.task
	switch {
	case t.Revision > f.after:
		f.after, f.last = t.Revision, t
		f.ready = append(f.ready, task.News{Task: &t})
	case f.last.ID == "":
		f.last = t
	case t.Revision == f.after && detailsDiffer(f.last, t):
		f.last = t
		f.ready = append(f.ready, task.News{Task: &t, Quiet: true})
	}
	f.ended = t.Done
	for _, text := range s.texts {
		f.collectText(ctx, text)
	}
}

func (f *feed) collectText(ctx context.Context, t liveText) {
	sent, ok := f.texts[t.itemIndex()]
	if !ok {
		sent = &sentText{}
		f.texts[t.itemIndex()] = sent
	}
	if sent.call == t.call && t.Length <= sent.length {
		return
	}
	content, err := f.engine.readLiveText(ctx, t)
	if err != nil {
		return // the next snapshot has the text as well
	}
	if unsent := sent.advance(t, content); unsent != nil {
		f.ready = append(f.ready, task.News{Text: unsent})
	}
}

// detailsDiffer reports whether a task waits for another reason or retries other calls than before, at the same revision.
func detailsDiffer(before, now task.Task) bool {
	return waitReason(before) != waitReason(now) || retryCounts(before) != retryCounts(now)
}

// waitReason returns why a task waits, without the times and texts that change all the time.
func waitReason(t task.Task) task.WaitReason {
	if t.Waiting == nil {
		return ""
	}
	return t.Waiting.Reason
}

// retryCounts returns the highest attempt and the number of calls that are being retried.
func retryCounts(t task.Task) (counts [2]int) {
	if t.Retrying != nil {
		counts = [2]int{t.Retrying.Attempt, t.Retrying.Calls}
	}
	return counts
}

// snapshotsDiffer reports whether listeners have to be woken.
func snapshotsDiffer(before, now taskSnapshot) bool {
	return before.task.Revision != now.task.Revision || detailsDiffer(before.task, now.task) ||
		!slices.EqualFunc(before.texts, now.texts, func(a, b liveText) bool { return a.call == b.call && a.Length == b.Length })
}
