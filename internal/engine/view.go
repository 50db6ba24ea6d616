package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"longhaul/internal/task"
)

// How long things are kept for readers.
const (
	// keepFor is how long a task is watched after its last reader.
	keepFor = 10 * time.Second
	// endedFor is how long an ended task is remembered, and mostEnded how many are. They never change, but may be erased.
	endedFor, mostEnded = time.Minute, 512
	// mostVouched is how many tasks are watched for those who only ask again and again. Temporal bears some 1,200 long polls.
	mostVouched = 600
	// oldWait is how long a reader waits to see what no history tells, when that is old; mostSpare is how many such looks are
	// made at a time: a Temporal that is slow is not asked all the more.
	oldWait, mostSpare = 200 * time.Millisecond, 16
	// vouchFor is how long a watch vouches without having heard anything: Temporal ends a long poll after 20 seconds.
	vouchFor = 30 * time.Second
)

// sight is a task as it was seen by one look.
type sight struct {
	task task.Task
	text []growing // what is being written at the moment
	at   time.Time
	turn int64 // of its view when the look began
}

// due reports whether the task's start time has come since.
func (s sight) due() bool {
	return s.task.Status == task.Scheduled && s.task.ScheduledAt != nil && !time.Now().Before(*s.task.ScheduledAt)
}

// views are the tasks that are being read. However many read a task, one look serves those who come at the same time; and
// while its history is watched, it is looked at only when something happened, or when what no history tells may have changed.
type views struct {
	mu     sync.Mutex
	live   map[string]*view
	ended  *lru.Cache[string, sight]
	looks  singleflight.Group
	spare  chan struct{} // one for each look that is made although the history tells of nothing
	writes int64         // by this process, to any task
}

// view is one of them.
type view struct {
	last    sight
	turn    int64         // rises with everything that happens to the task
	heard   time.Time     // when its watch last knew that it had heard everything; zero while it does not
	changed chan struct{} // closed with every change
	readers int           // who wait or listen
	read    time.Time     // when somebody last read
	watched bool
	stop    context.CancelFunc
}

func newViews() *views {
	ended, _ := lru.New[string, sight](mostEnded) // fails on a size below one alone
	return &views{live: map[string]*view{}, ended: ended, spare: make(chan struct{}, mostSpare)}
}

// closerAge is how old what no history tells may be: what a task waits for, what it tries again, what is being written.
// Whoever asks, looks for that alone are some 100 a second at the most, and one a second for each text.
func (vs *views) closerAge(v *view) time.Duration {
	if len(v.last.text) > 0 {
		return time.Second
	}
	return max(time.Second, time.Duration(len(vs.live))*10*time.Millisecond)
}

// holds says how far what is known of a task holds.
type holds int

const (
	nothing holds = iota // is known, or something has happened since
	old                  // it is what the history tells, but what no history tells was looked at long ago
	aging                // the same, a moment ago
	all                  // of it holds
)

// known is a sight, how far it holds, and the look that would give a new one.
func (vs *views) known(id string) (s sight, h holds, look string, turn int64) {
	if s, ok := vs.ended.Get(id); ok && time.Since(s.at) < endedFor {
		return s, all, "", 0
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.live[id]
	if v == nil {
		return s, nothing, fmt.Sprint(id, " ", vs.writes), 0
	}
	age, limit := time.Since(v.last.at), vs.closerAge(v)
	switch {
	case v.last.at.IsZero() || v.last.turn != v.turn || time.Since(v.heard) >= vouchFor || v.last.due():
		h = nothing
	case age > 2*limit:
		h = old
	case age > limit:
		h = aging
	default:
		return v.last, all, "", v.turn
	}
	return v.last, h, fmt.Sprint(id, " ", vs.writes, " ", v.turn), v.turn
}

// keep notes what a look saw, unless it has seen less than an earlier one, and tells those who wait for what is new.
func (vs *views) keep(id string, s sight) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if s.task.Done {
		vs.ended.Add(id, s)
	}
	v := vs.live[id]
	if v == nil || s.turn < v.last.turn || s.task.Revision < v.last.task.Revision {
		return
	}
	fresh := differs(v.last, s)
	v.last = s
	if fresh {
		v.tell()
	}
}

// tell must be called with the lock held.
func (v *view) tell() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// happened notes that something happened to a task: what was seen of it before does not hold.
func (vs *views) happened(id string, heard time.Time) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v := vs.live[id]; v != nil {
		v.turn++
		v.heard = heard
		v.tell()
	}
}

// quiet notes that a watch has heard everything, and that nothing happened.
func (vs *views) quiet(id string) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v := vs.live[id]; v != nil && !v.heard.IsZero() {
		v.heard = time.Now()
	}
}

// wrote notes that this process changed a task: nobody may be shown what it was before.
func (vs *views) wrote(id string) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.writes++
	vs.ended.Remove(id)
	if v := vs.live[id]; v != nil {
		v.turn++
		v.tell()
	}
}

// see shows a task, whoever's it is: as its watch vouches for it, or by a look that serves all who ask for one at the time.
func (e *Engine) see(ctx context.Context, id string) (sight, error) {
	s, known, name, turn := e.views.known(id)
	if known == all {
		return s, nil
	}
	look := e.views.looks.DoChan(name, func() (any, error) {
		if known != nothing {
			select {
			case e.views.spare <- struct{}{}:
				defer func() { <-e.views.spare }()
			default:
				return s, nil
			}
		}
		s, err := e.inspect(context.WithoutCancel(ctx), id)
		if err != nil {
			return s, err
		}
		s.turn = turn
		e.views.keep(id, s)
		return s, nil
	})
	var enough <-chan time.Time
	switch known {
	case aging:
		return s, nil // those who come next have the new one
	case old:
		enough = time.After(oldWait)
	default: // there is nothing else
	}
	select {
	case <-ctx.Done():
		return sight{}, ctx.Err()
	case <-enough:
		return s, nil
	case result := <-look:
		s, _ := result.Val.(sight)
		return s, result.Err
	}
}

// inspect looks at a task, with all that a reader is shown.
func (e *Engine) inspect(ctx context.Context, id string) (sight, error) {
	s := sight{at: time.Now()}
	d, err := e.look(ctx, id)
	if err != nil {
		return s, err
	}
	s.task, s.text, err = e.whole(ctx, d)
	return s, err
}

// seeOf shows a task of a tenant.
func (e *Engine) seeOf(ctx context.Context, tenant, id string) (sight, error) {
	s, err := e.see(ctx, id)
	if err == nil && s.task.Tenant != tenant {
		return sight{}, missing(id)
	}
	return s, err
}
