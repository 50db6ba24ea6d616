package call

import (
	"context"
	"fmt"
	"path"
	"time"

	"go.temporal.io/sdk/activity"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Answer refers to a model's answer in the ledger.
type Answer struct {
	Key       string     `json:"key,omitempty"` // of the ledger entry
	Usage     task.Usage `json:"usage,omitzero"`
	Calls     int        `json:"calls,omitempty"`     // made for it, the failed ones included; 0 when it was in the ledger
	By        string     `json:"by,omitempty"`        // who gave it: provider/model
	Simulated bool       `json:"simulated,omitempty"` // the simulated provider gave it
}

// Entry is what the ledger keeps of an answer, and which activity paid for it.
type Entry struct {
	llm.Response
	Vectors []byte `json:"vectors,omitempty"` // of an answer in vectors: one after the other, see packVectors

	From string     `json:"from,omitempty"` // provider/model
	Cost *task.Cost `json:"cost,omitempty"`
	By   string     `json:"by"`
	At   time.Time  `json:"at"`
}

// payer names the running activity, over all its attempts.
func payer(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID + "/" + info.WorkflowExecution.RunID + "/" + info.ActivityID
}

// PaidCall is a call for one answer, over all its attempts.
type PaidCall struct {
	*Caller
	Heartbeat Recorder
	Task      record.TaskRef
	Key       string          // of the answer in the ledger
	Req       llm.Request     // of an answer in words, before the target and a repair change it
	Targets   []router.Target // who may be asked, in order
	defect    *defect         // what was wrong with the last answer; nil for nothing
	Tokens    int             // estimate of what the call will use
	Send      func(ctx context.Context, target router.Target) (Entry, llm.Limits, error)
	Splits    func(err error) bool // whether the caller asks for less instead; nil means never
}

// Ask returns the answer to a request, from the ledger if it was paid for before. It waits for a turn in the lane and
// makes at most one provider call: Temporal makes the next attempt, which finds in the heartbeat what this one met. An
// answer is recorded before anything else can fail, even during a cancel, under the model that was asked for,
// whichever model answered.
func (a *Caller) Ask(ctx context.Context, heart *Heartbeat, t record.TaskRef, step string, req llm.Request) (Answer, error) {
	req.Model = a.Router.Model(t.Model)
	key, err := storage.LedgerKey(t.Lineage, step, req)
	if err != nil {
		return Answer{}, err
	}
	q := &PaidCall{
		Caller: a, Heartbeat: heart, Task: t, Key: key, Req: req, Targets: a.Router.Targets(req.Model), Tokens: EstimateTokens(req),
	}
	q.Send = q.Complete
	got, err := q.get(ctx)
	if err != nil {
		return Answer{}, err
	}
	return got.answer(ctx, key, heart.Call()), nil
}

// get returns the answer from the ledger, or makes a call and records the answer.
func (q *PaidCall) get(ctx context.Context) (got Entry, err error) {
	ok, err := q.Ledger.Look(ctx, q.Key, &got)
	switch {
	case err != nil:
		return got, err
	case ok:
		q.ended()
		return got, nil
	}
	q.countLost()
	if got, err = q.Attempt(ctx); err != nil {
		return got, err
	}
	if err := q.Record(ctx, q.Key, got); err != nil {
		return got, err
	}
	q.ended()
	return got, nil
}

// Attempt makes one call. The error tells Temporal what the failure means for the next attempt.
func (q *PaidCall) Attempt(ctx context.Context) (got Entry, err error) {
	if q.defect, err = q.readDefect(ctx, q.Heartbeat.Call().Defect); err != nil {
		return got, err
	}
	got, err = q.callProvider(ctx)
	if q.Splits != nil && q.Splits(err) {
		q.ended()
		return got, err
	}
	if err != nil {
		return got, q.failed(ctx, err)
	}
	return got, nil
}

// callProvider makes one provider call when the lane admits it.
func (q *PaidCall) callProvider(ctx context.Context) (Entry, error) {
	pass, err := q.admit(ctx)
	if err != nil {
		return Entry{}, err
	}
	var told lane.Outcome
	defer func() { pass.Done(told) }() // also after a panic: a place that is not given back is lost for all
	if err := q.begin(ctx); err != nil {
		return Entry{}, err
	}
	target := q.target()
	began := time.Now()
	got, limits, err := q.Send(ctx, target)
	if ctx.Err() != nil {
		q.cancels.add(q.Task.ID)
	}
	told = LaneOutcome(got.Usage, limits, err)
	if err == nil && got.FinishReason == "length" {
		err = cutShort(target.Provider.Name, got.Response)
	}
	got.From, got.Cost, got.By, got.At = target.String(), target.Price.Cost(got.Usage), payer(ctx), time.Now().UTC()
	q.metered(ctx, target, began, got, err)
	return got, err
}

// Complete asks a target for an answer in words.
func (q *PaidCall) Complete(ctx context.Context, target router.Target) (Entry, llm.Limits, error) {
	q.Heartbeat.Grow(llm.Progress{})
	response, err := target.Provider.Model.Complete(ctx, q.request(target), q.Heartbeat.Grow)
	return Entry{Response: response}, response.Limits, err
}

// target returns the provider and model to ask now.
func (q *PaidCall) target() router.Target {
	return q.Targets[min(q.Heartbeat.Call().Target, len(q.Targets)-1)] // there may have been more before a restart
}

// idempotencyKey is the same for every attempt at a request, and for no other request.
func (q *PaidCall) idempotencyKey() string {
	key := path.Base(q.Key)
	if n := q.Heartbeat.Call().Target; n > 0 {
		key += fmt.Sprintf("-%d", n)
	}
	return key
}

// request returns the request for a target, repaired if the last answer had a defect.
func (q *PaidCall) request(target router.Target) llm.Request {
	req := q.Req
	req.Model, req.IdempotencyKey = target.Name, q.idempotencyKey()
	if q.defect != nil {
		req = q.defect.repair(req)
	}
	return req
}

// answer refers to an entry. It reports the use of the call that paid for it when this activity made that call, in
// this attempt or in an earlier one that was lost before it could report.
func (e Entry) answer(ctx context.Context, key string, s record.CallState) Answer {
	answer := Answer{Key: key, By: e.From, Simulated: e.Simulated, Calls: s.Calls}
	if e.By == payer(ctx) {
		answer.Usage = e.Used()
		answer.Calls = max(s.Calls, 1) // the heartbeat that counted the call may have been lost
	}
	answer.Usage = answer.Usage.Add(s.Spent().Usage)
	return answer
}

// Used returns what the call for the answer used.
func (e Entry) Used() task.Usage {
	u := task.Usage{
		Requests: 1, InputTokens: e.Usage.InputTokens, OutputTokens: e.Usage.OutputTokens, CachedTokens: e.Usage.CachedTokens, Cost: e.Cost,
	}
	if !e.Usage.Known {
		u.UnmeteredCalls = 1
	}
	return u
}

// maxLost is how many calls may be lost with their worker before the call itself is suspected of killing workers.
const maxLost = 10

// begin counts a call that is about to be made.
func (q *PaidCall) begin(ctx context.Context) error {
	if state := q.Heartbeat.Call(); state.Lost >= maxLost {
		return Final(task.Errorf(task.ModelUnavailable, "the worker was lost %d times during this call; it is not made again", state.Lost), state)
	}
	q.Heartbeat.UpdateCall(func(s *record.CallState) { s.Calls, s.InFlight = s.Calls+1, q.Key })
	q.Heartbeat.SendCall(ctx)
	return nil
}

// ended notes that the call under way has ended and is accounted for.
func (q *PaidCall) ended() {
	q.Heartbeat.UpdateCall(func(s *record.CallState) { s.InFlight = "" })
}

// Record keeps a paid answer. The provider is paid whatever happened to the task since, so a cancel and a bucket that
// is down do not stop it: only the end of the worker does.
func (a *Caller) Record(ctx context.Context, key string, paid any) error {
	going := activity.GetWorkerStopChannel(ctx)
	ctx = context.WithoutCancel(ctx)
	for n := 1; ; n++ {
		err := a.Ledger.Record(ctx, key, paid)
		if err == nil {
			return nil
		}
		a.Log.Warn("paid answer not recorded yet", "key", key, "error", err)
		select {
		case <-time.After(backoff(n)):
		case <-going:
			return err
		}
	}
}

// Recorded refers to an answer that is in the ledger.
func (a *Caller) Recorded(ctx context.Context, key string) (Answer, error) {
	found, err := a.Entry(ctx, key)
	return Answer{Key: key, By: found.From, Simulated: found.Simulated}, err
}

// Text returns the text of an answer in the ledger.
func (a *Caller) Text(ctx context.Context, key string) (string, error) {
	found, err := a.Entry(ctx, key)
	return found.Text, err
}

// Entry returns an entry of the ledger. It returns an error if the ledger has no entry under the key.
func (a *Caller) Entry(ctx context.Context, key string) (found Entry, err error) {
	ok, err := a.Ledger.Look(ctx, key, &found)
	if err == nil && !ok {
		err = fmt.Errorf("the ledger has no %s", key)
	}
	return found, err
}
