package engine

import (
	"context"
	"io"
	"slices"
	"time"

	"longhaul/internal/task"
)

// Events gives the states of a task whose revision is past after, beginning with the present one, and the texts that
// are being written for it, until it has ended. A revision that the task has not come to is one that nobody was told:
// then the present state is new.
func (e *Engine) Events(ctx context.Context, tenant, id string, after int64) (task.Feed, error) {
	s, err := e.seeOf(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if after > s.task.Revision { // another API may have told of it, a moment ago
		if s, err = e.inspect(ctx, id); err != nil {
			return nil, err
		}
	}
	if after > s.task.Revision {
		after = 0
	}
	return &feed{engine: e, id: id, letGo: e.hold(id), after: after, texts: map[int]*heardText{}}, nil
}

// feed follows one task for one listener. It keeps no queue: whenever it is asked, it tells what is new by then.
type feed struct {
	engine *Engine
	id     string
	letGo  func()

	after int64     // the revision that was told last
	last  task.Task // as it was told, or seen at the first look
	texts map[int]*heardText
	ready []task.News // of the last look
	ended bool
}

// Close lets go of the task.
func (f *feed) Close() { f.letGo() }

// Next waits for news. A Temporal that is away for a while is borne.
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
		changed, pulse := f.engine.views.next(f.id), f.engine.views.pulse(f.id)
		s, err := f.engine.see(ctx, f.id)
		switch {
		case ctx.Err() != nil:
			return task.News{}, ctx.Err()
		case err != nil && task.AsError(err).Code != task.Unavailable:
			return task.News{}, err
		case err == nil:
			f.take(ctx, s)
		}
		if len(f.ready) > 0 || f.ended {
			continue
		}
		timer := time.NewTimer(pulse)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-untilDue(s.task):
		case <-timer.C:
		}
		timer.Stop()
	}
}

// pulse is how often a listener looks for what no history tells of: texts, and what a task waits for.
func (vs *views) pulse(id string) time.Duration {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.closerAge(vs.get(id)) + 10*time.Millisecond
}

// take makes news of what is new in a sight.
func (f *feed) take(ctx context.Context, s sight) {
	t := s.task
	switch {
	case t.Revision > f.after:
		f.after, f.last = t.Revision, t
		f.ready = append(f.ready, task.News{Task: &t})
	case f.last.ID == "":
		f.last = t
	case t.Revision == f.after && quietly(f.last, t):
		f.last = t
		f.ready = append(f.ready, task.News{Task: &t, Quiet: true})
	}
	f.ended = t.Done
	for _, g := range s.text {
		heard, ok := f.texts[g.item()]
		if !ok {
			heard = &heardText{}
			f.texts[g.item()] = heard
		}
		if heard.call == g.call && g.Length <= heard.length {
			continue
		}
		if text, err := f.engine.textOf(ctx, g); err == nil {
			if part := heard.more(g, text); part != nil {
				f.ready = append(f.ready, task.News{Text: part})
			}
		}
	}
}

// quietly reports whether a task waits for something else, or tries something else again, than before.
func quietly(before, now task.Task) bool {
	return waits(before) != waits(now) || tries(before) != tries(now)
}

// waits is what a task waits for, without what changes all the time.
func waits(t task.Task) task.WaitReason {
	if t.Waiting == nil {
		return ""
	}
	return t.Waiting.Reason
}

func tries(t task.Task) (n [2]int) {
	if t.Retrying != nil {
		n = [2]int{t.Retrying.Attempt, t.Retrying.Calls}
	}
	return n
}

// differs reports whether a sight has anything for those who listen that the one before had not.
func differs(before, now sight) bool {
	return before.task.Revision != now.task.Revision || quietly(before.task, now.task) ||
		!slices.EqualFunc(before.text, now.text, func(a, b growing) bool { return a.call == b.call && a.Length == b.Length })
}
