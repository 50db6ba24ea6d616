package rows

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"longhaul/activities/call"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// RowsRequest asks to work on a shard of rows.
type RowsRequest struct {
	RowsJob
	Shard int `json:"shard,omitempty"`
}

// RowsDone is what came of a shard, or of several.
type RowsDone struct {
	Succeeded int        `json:"succeeded,omitempty"`
	Failed    int        `json:"failed,omitempty"`
	Usage     task.Usage `json:"usage,omitzero"`
	Simulated bool       `json:"simulated,omitempty"`
}

// Add sums two.
func (d RowsDone) Add(e RowsDone) RowsDone {
	d.Succeeded, d.Failed, d.Usage = d.Succeeded+e.Succeeded, d.Failed+e.Failed, d.Usage.Add(e.Usage)
	d.Simulated = d.Simulated || e.Simulated
	return d
}

// RunRows works on a shard: it makes the calls that are not on record yet, many side by side, each when the lane lets it, and puts every answer
// on record before it counts. A call that fails is made again here while its wait is short; when only long waits are left, the shard leaves
// the worker until the first of them is over. The next attempt finds on record what this one did.
func (a *Activities) RunRows(ctx context.Context, req RowsRequest) (RowsDone, error) {
	heart := call.StartHeartbeat(ctx, "working on rows")
	defer heart.Stop()
	books, err := a.plans.open(ctx, a.Bucket, req.RowsJob)
	if err != nil {
		return RowsDone{}, err
	}
	view, err := books.shard(ctx, req.Shard)
	if err != nil {
		return RowsDone{}, err
	}
	view.journal.Log, view.journal.Pace = a.Log, &a.pace
	if n := view.journal.Broken(); n > 0 {
		a.Log.Warn("records of rows that cannot be read; what they were paid for is asked for again", "task", req.Task.ID, "shard", req.Shard, "records", n)
	}
	run := &rowsRun{shardView: view, do: a, heart: heart}
	if run.showsText() {
		a.Call.ShowText(ctx, heart, req.Task, &view.shard.From, call.PlainText)
	}
	if err := run.all(ctx); err != nil {
		return RowsDone{}, err
	}
	return run.done()
}

// rowsRun is a shard at work.
type rowsRun struct {
	*shardView
	do    *Activities
	heart *call.Heartbeat

	mu    sync.Mutex
	later time.Time   // when the first of the calls that wait for long may be made; zero for none
	why   *task.Error // what that one waits for
	held  bool        // calls were left because the task is paused
}

// showsText reports whether a person may be waiting for the text of a shard: one of one text.
func (r *rowsRun) showsText() bool {
	_, writes := r.work.(*generation)
	return writes && len(r.rows) == 1 && len(r.calls) == 1
}

// all makes every call that is left.
func (r *rowsRun) all(ctx context.Context) error {
	g, calls := errgroup.WithContext(ctx)
	for _, c := range r.calls {
		g.Go(func() error { return r.one(calls, c) })
	}
	err := g.Wait()
	switch {
	case ctx.Err() != nil, r.held:
		return call.Stopped(ctx, record.CallState{})
	case err != nil:
		return err
	case !r.later.IsZero():
		return call.Retry(r.why, record.CallState{}, call.RetryDelay(time.Until(r.later), 1))
	}
	return nil
}

// one takes a call to its end, in parts where it does not fit its rows.
func (r *rowsRun) one(ctx context.Context, c rowCall) error {
	made, err := r.settle(ctx, c)
	if err != nil || !made.Split {
		return err
	}
	parts, err := r.parts(c)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := r.one(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// rowPatience is how long a call waits inside its shard for its next attempt.
const rowPatience = 30 * time.Second

// settle makes a call until it has an answer or has failed for good, and puts that on record. One that must wait for long is left for a later
// attempt of the shard: its record is then empty.
func (r *rowsRun) settle(ctx context.Context, c rowCall) (rowRecord, error) {
	known, ok := r.record(c)
	if ok && known.Open == nil {
		r.tick(c)
		return known, nil
	}
	q := r.asking(c, known.Open)
	for {
		made, wait, why, err := r.attempt(ctx, q, c)
		switch {
		case errors.Is(err, activity.ErrActivityPaused):
			r.hold()
			return rowRecord{}, r.keep(ctx, c.key, made, q)
		case err != nil:
			return rowRecord{}, errors.Join(err, r.keep(ctx, c.key, made, q))
		case wait > rowPatience:
			r.leave(time.Now().Add(wait), why)
			return rowRecord{}, r.keep(ctx, c.key, made, q)
		case wait > 0:
			if !call.Sleep(ctx, wait) {
				return rowRecord{}, errors.Join(ctx.Err(), r.keep(ctx, c.key, made, q))
			}
		default:
			if err := r.write(ctx, c.key, made); err != nil {
				return rowRecord{}, err
			}
			r.tick(c)
			return made, nil
		}
	}
}

// ofOneRow are the failures that one of several rows may have brought upon all: each is asked about without the others.
var ofOneRow = map[task.Code]bool{
	task.ContentFiltered: true, task.ContextExceeded: true, task.ModelRefused: true, task.BadResponse: true, task.AnswerIncomplete: true,
}

// attempt makes one provider call, and gives what came of it for good, or how long to wait before the next and why.
func (r *rowsRun) attempt(ctx context.Context, q *call.PaidCall, c rowCall) (made rowRecord, wait time.Duration, why *task.Error, err error) {
	got, err := q.Attempt(ctx)
	b := q.Heartbeat.Call()
	made = rowRecord{Calls: b.Calls, Wasted: b.Wasted, By: r.task.ID}
	if err != nil && ctx.Err() != nil { // an answer that came all the same is paid for
		return made, 0, nil, ctx.Err()
	}
	failed, ours := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case err == nil:
		made.Answer, made.Split = &got, c.parts != nil && !r.fits(c, got)
		return made, 0, nil, nil
	case c.parts != nil && errors.Is(err, llm.ErrBatchTooLarge):
		made.Split = true
		return made, 0, nil, nil
	case !ours:
		return made, 0, nil, err
	}
	if err := failed.Details(&why); err != nil {
		return made, 0, nil, err
	}
	switch {
	case !failed.NonRetryable():
		return made, max(failed.NextRetryDelay(), call.Immediately), why, nil
	case c.parts != nil && ofOneRow[why.Code] && !errors.Is(why, llm.ErrDimensions):
		made.Split = true
	default:
		made.Error = why
	}
	return made, 0, nil, nil
}

// keep puts on record how far a call is that is left or broken off: what it used is counted, and its next attempt goes on from there.
func (r *rowsRun) keep(ctx context.Context, key string, made rowRecord, q *call.PaidCall) error {
	if made.Calls == 0 {
		return nil
	}
	made.Open = new(q.Heartbeat.Call())
	return r.write(ctx, key, made)
}

// leave notes that a call is made later, and why.
func (r *rowsRun) leave(until time.Time, why *task.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.later.IsZero() || until.Before(r.later) {
		r.later, r.why = until, why
	}
}

// hold notes that calls are left because the task is paused.
func (r *rowsRun) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = true
}

// tick counts the rows of a call that is on record.
func (r *rowsRun) tick(c rowCall) {
	r.heart.Update(func(b *record.Heartbeat) { b.Done, b.Total = min(b.Done+len(c.rows), len(r.rows)), len(r.rows) })
}

// done counts the rows of the shard. Those that are copies of an earlier row are counted when that one has its outcome.
func (r *rowsRun) done() (d RowsDone, err error) {
	for i := range r.rows {
		item, _, err := r.outcome(i)
		if err != nil {
			return d, err
		}
		d.Usage, d.Simulated = d.Usage.Add(item.Usage), d.Simulated || item.Simulated
		switch item.Status {
		case task.ItemFailed:
			d.Failed++
		default:
			d.Succeeded++
		}
	}
	return d, nil
}

// asking is one call on its way, from where it was left.
func (r *rowsRun) asking(c rowCall, left *record.CallState) *call.PaidCall {
	state := &rowState{}
	if left != nil {
		state.state = *left
	}
	if r.showsText() {
		state.shown = r.heart
	}
	q := &call.PaidCall{
		Caller: r.do.Call, Heartbeat: state, Task: r.task, Key: storage.RowFlaw(r.task.Lineage, c.key), Tokens: c.tokens,
	}
	switch req := c.request.(type) {
	case llm.Request:
		req.Model = r.model
		q.Req, q.Targets, q.Send = req, r.do.Call.Router.Targets(r.model), q.Complete
	case llm.EmbedRequest:
		q.Targets, q.Send = r.do.Call.Router.Same(r.model), q.Embed(req)
		q.Splits = func(err error) bool { return c.parts != nil && errors.Is(err, llm.ErrBatchTooLarge) }
	}
	return q
}

// rowState keeps the state of the calls for one row or for rows that share a call. The heartbeat of the shard is
// told of the call whose text is shown.
type rowState struct {
	mu    sync.Mutex
	state record.CallState
	shown *call.Heartbeat // nil for one among many
}

// Call returns the state.
func (d *rowState) Call() record.CallState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// UpdateCall changes the state.
func (d *rowState) UpdateCall(change func(*record.CallState)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.state)
}

// SendCall counts a call that begins, where its text is shown.
func (d *rowState) SendCall(context.Context) {
	if d.shown != nil {
		d.shown.UpdateCall(func(s *record.CallState) { s.Calls++ })
	}
}

// SetWaiting does nothing: the rows of a shard wait side by side.
func (d *rowState) SetWaiting(bool) {}

// Grow shows the answer that is being received.
func (d *rowState) Grow(p llm.Progress) {
	if d.shown != nil {
		d.shown.Grow(p)
	}
}

// Flush returns the state: the journal keeps it.
func (d *rowState) Flush(context.Context) record.CallState { return d.Call() }
