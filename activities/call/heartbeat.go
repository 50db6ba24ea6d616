package call

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"longhaul/internal/llm"
	"longhaul/internal/record"
)

// heartbeatInterval is well within the heartbeat timeout of four seconds, and brings a cancel to the activity
// within about a second.
const heartbeatInterval = time.Second

// Recorder keeps the state of a paid call over all attempts: in the heartbeat of an activity, or in the journal
// of rows.
type Recorder interface {
	Call() record.CallState
	UpdateCall(change func(*record.CallState))
	SendCall(ctx context.Context)               // makes the state survive the worker before a call begins
	SetWaiting(waiting bool)                    // for a turn in the lane
	Grow(p llm.Progress)                        // the answer that is being received
	Flush(ctx context.Context) record.CallState // ends recording and returns the state for the next attempt
}

// Heartbeat sends heartbeats beside the work of an activity, so that liveness does not depend on how long a call
// takes. Its methods may be called by several goroutines.
type Heartbeat struct {
	mu    sync.Mutex
	state record.Heartbeat
	live  *liveText // how the answer is shown while it is written; nil for not at all
	stop  chan struct{}
	once  sync.Once
	done  sync.WaitGroup
}

// StartHeartbeat starts to send heartbeats, continuing from the details that the last attempt left. The first
// goes out after a second or with the first call: the SDK holds back what follows a heartbeat at once, and a call
// must be on record before its worker can die of it. Call Stop before the activity returns.
func StartHeartbeat(ctx context.Context, stage string) *Heartbeat {
	return StartJobHeartbeat(ctx, stage, nil)
}

// StartJobHeartbeat is StartHeartbeat for an activity with details of its own: job is a pointer that receives the
// details of the last attempt, if there are any.
func StartJobHeartbeat(ctx context.Context, stage string, job any) *Heartbeat {
	h := &Heartbeat{stop: make(chan struct{})}
	h.state.Job = job
	if activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &h.state) // details that cannot be read count as none
	}
	h.state.Stage, h.state.Live = stage, nil
	h.done.Go(func() { h.run(ctx) })
	return h
}

func (h *Heartbeat) run(ctx context.Context) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			h.updateLive(ctx)
			if isPaused(ctx) {
				sendPaused(ctx, h.State())
			} else {
				activity.RecordHeartbeat(ctx, h.State())
			}
		}
	}
}

// Stop ends the heartbeats. It may be called more than once.
func (h *Heartbeat) Stop() {
	h.once.Do(func() { close(h.stop) })
	h.done.Wait()
}

// State returns the details that go out next.
func (h *Heartbeat) State() record.Heartbeat {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

// Update changes the details that go out next. A job must be replaced by a new pointer, never changed in place.
func (h *Heartbeat) Update(change func(*record.Heartbeat)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.state
	change(&h.state)
	if h.state.MovedSince(before) {
		h.state.Moved = time.Now().UTC().Truncate(time.Second)
	}
}

// Call returns the state of the activity's paid call.
func (h *Heartbeat) Call() record.CallState { return h.State().Call }

// UpdateCall changes the state of the activity's paid call.
func (h *Heartbeat) UpdateCall(change func(*record.CallState)) {
	h.Update(func(b *record.Heartbeat) { change(&b.Call) })
}

// SetWaiting shows whether the activity waits for a turn in the lane.
func (h *Heartbeat) SetWaiting(waiting bool) {
	h.Update(func(b *record.Heartbeat) { b.Waiting = waiting })
}

// SendCall sends a heartbeat at once.
func (h *Heartbeat) SendCall(ctx context.Context) { activity.RecordHeartbeat(ctx, h.State()) }

// Flush stops the heartbeats and leaves a last one for the next attempt: the SDK sends it before it reports the
// failure, also when the activity was cancelled.
func (h *Heartbeat) Flush(ctx context.Context) record.CallState {
	h.Stop()
	activity.RecordHeartbeat(context.WithoutCancel(ctx), h.State())
	return h.Call()
}
