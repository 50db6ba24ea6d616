package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"longhaul/internal/llm"
	"longhaul/internal/spell"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// Beat is the heartbeat of an activity: how far it is, for readers, and what its earlier attempts
// met, for the next one. The next attempt reads it back after a crash.
type Beat struct {
	Stage     string // what is being done, for a person
	Done      int    // of Total, in pages or records
	Total     int
	Bytes     int       // of answer text so far
	Waiting   bool      // for a turn in the lane
	Calls     int       // provider calls begun, over all attempts
	Errors    int       // of them, those that failed
	Throttled int       // of them, those that were asked to wait
	Down      int       // of them, those that found nobody
	Stopped   int       // of them, those that their worker's stop or a cancel cut off
	Split     int       // of them, those that were too large, and are made in parts
	Answered  int       // of them, those whose answer is the one that counts
	Mourned   int       `json:",omitempty"` // of them, those whose worker was lost, as far as they have been counted
	Moved     time.Time // when anything of this last changed that is a step forward

	Asked spell.Spell // since the first that was asked to wait
	Away  spell.Spell // since the first in a row that found nobody
	Doubt doubt       // since a submit without an answer

	Target int              // who is asked now, of those who may be
	Before int              // of the errors, those of targets before it
	Flaw   string           // ledger key of what was wrong with its answer; "" for nothing
	Wasted task.Usage       // by calls that gave no answer
	Tries  []task.FailedTry `json:",omitempty"` // the last calls that failed

	Watch *video.Watch `json:",omitempty"` // of a job that is being polled; nil for nothing yet
	Live  *Live        `json:",omitempty"` // the text that is being written; nil where nobody is shown it
}

// lost is how many calls nobody knows the end of: their worker was lost.
func (b Beat) lost() int {
	return b.Calls - b.Errors - b.Throttled - b.Down - b.Stopped - b.Split - b.Answered
}

// spent is what the calls that gave no answer cost all the same.
func (b Beat) spent() Spent {
	s := Spent{Calls: b.Calls, Usage: b.Wasted}
	s.Usage.UnmeteredCalls += int64(b.lost())
	return s
}

// further reports whether a beat is another than the one before in what a person would call progress.
func (b Beat) further(before Beat) bool {
	return b.Stage != before.Stage || b.Done != before.Done || b.Bytes != before.Bytes || b.Calls != before.Calls ||
		b.Waiting != before.Waiting || b.Target != before.Target || b.Watch != before.Watch
}

// Spent is what an activity used without an answer to show for it. It is the last detail of its error.
type Spent struct {
	Calls int
	Usage task.Usage
}

// beatEvery keeps a heartbeat well within the heartbeat timeout of four seconds, and brings a
// cancel to the activity within about a second.
const beatEvery = time.Second

// diary is what is known of the calls for one answer, over all attempts: the heart of an activity, or what is
// kept of one row among many.
type diary interface {
	now() Beat
	note(change func(*Beat))
	tell(ctx context.Context)      // that a call begins
	grew(p llm.Progress)           // the answer of a call
	last(ctx context.Context) Beat // what the next attempt must know
}

// heart beats beside the work, so that liveness never depends on how long a call takes.
type heart struct {
	mu   sync.Mutex
	beat Beat
	show *show // how its text is shown; nil for not at all
	stop chan struct{}
	once sync.Once
	done sync.WaitGroup
}

// startHeart begins to beat, from what the attempt before left. The first beat comes after a second, or with the first call: what
// follows a beat at once is held back by the SDK, and a call must be told of before its worker can die of it. Stop it before returning.
func startHeart(ctx context.Context, stage string) *heart {
	h := &heart{stop: make(chan struct{})}
	if activity.HasHeartbeatDetails(ctx) {
		// Details that cannot be read are those of another version: start afresh.
		_ = activity.GetHeartbeatDetails(ctx, &h.beat)
	}
	h.beat.Stage, h.beat.Live = stage, nil
	h.done.Go(func() { h.run(ctx) })
	return h
}

func (h *heart) run(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			h.tellText(ctx)
			if paused(ctx) {
				beatPaused(ctx, h.now())
			} else {
				activity.RecordHeartbeat(ctx, h.now())
			}
		}
	}
}

// Stop ends the beating. It may be called more than once.
func (h *heart) Stop() {
	h.once.Do(func() { close(h.stop) })
	h.done.Wait()
}

// tell sends a beat at once.
func (h *heart) tell(ctx context.Context) { activity.RecordHeartbeat(ctx, h.now()) }

// last stops the beating and leaves a last beat for the next attempt, which must know what this one
// met: the SDK sends it before it tells of the failure.
func (h *heart) last(ctx context.Context) Beat {
	h.Stop()
	activity.RecordHeartbeat(context.WithoutCancel(ctx), h.now()) // also of one that is cut off
	return h.now()
}

// note changes the beat that goes out next.
func (h *heart) note(change func(*Beat)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.beat
	change(&h.beat)
	if h.beat.further(before) {
		h.beat.Moved = time.Now().UTC().Truncate(time.Second)
	}
}

func (h *heart) now() Beat {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beat
}
