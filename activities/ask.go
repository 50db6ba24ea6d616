package activities

import (
	"context"
	"fmt"
	"path"
	"time"

	"go.temporal.io/sdk/activity"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Answer refers to a model's answer in the ledger.
type Answer struct {
	Key       string // of the ledger entry
	Usage     task.Usage
	Calls     int    // made for it, the failed ones included; 0 when it was in the ledger
	By        string // who gave it: provider/model
	Simulated bool   // the simulated provider gave it
}

// entry is what the ledger keeps of an answer, and which activity paid for it.
type entry struct {
	llm.Response
	Vectors []byte `json:"vectors,omitempty"` // of an answer in vectors: one after the other, see packVectors

	From string     `json:"from,omitempty"` // provider/model
	Cost *task.Cost `json:"cost,omitempty"`
	By   string     `json:"by"`
	At   time.Time  `json:"at"`
}

// payer names the activity that runs, over all its attempts.
func payer(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID + "/" + info.WorkflowExecution.RunID + "/" + info.ActivityID
}

// asking is one answer that is being asked for.
type asking struct {
	*Activities
	heart   diary
	task    Task
	key     string          // of the answer in the ledger
	req     llm.Request     // as it was meant; of an answer in words
	targets []router.Target // who may be asked, in order
	flaw    *flaw           // what was wrong with the answer before; nil for nothing
	tokens  int             // that the call will use, about
	send    func(ctx context.Context, target router.Target) (entry, llm.Limits, error)
	splits  func(err error) bool // whether the caller asks for less instead; nil means never
}

// ask gets the answer to a request, from the ledger if it was paid for before. It waits its turn in
// the lane and makes one provider call at the most: Temporal makes the next attempt, which finds in
// the heartbeat what this one met. An answer is recorded before anything else can fail, even while
// being cancelled. The ledger knows it by the model that was asked for, whoever stood in for it.
func (a *Activities) ask(ctx context.Context, heart *heart, t Task, step string, req llm.Request) (Answer, error) {
	req.Model = a.Router.Model(t.Model)
	key, err := storage.LedgerKey(t.Lineage, step, req)
	if err != nil {
		return Answer{}, err
	}
	q := &asking{
		Activities: a, heart: heart, task: t, key: key, req: req, targets: a.Router.Targets(req.Model), tokens: estimate(req),
	}
	q.send = q.complete
	got, err := q.get(ctx)
	if err != nil {
		return Answer{}, err
	}
	return got.answer(ctx, key, heart.now()), nil
}

// get finds the answer in the ledger, or makes a call for it and records what came.
func (q *asking) get(ctx context.Context) (got entry, err error) {
	if ok, err := q.Ledger.Look(ctx, q.key, &got); err != nil || ok {
		return got, err
	}
	if got, err = q.attempt(ctx); err != nil {
		return got, err
	}
	return got, q.record(ctx, q.key, got)
}

// attempt makes one call. What its failure means for the next attempt is in the error, which is one for Temporal.
func (q *asking) attempt(ctx context.Context) (got entry, err error) {
	if q.flaw, err = q.flawed(ctx, q.heart.now().Flaw); err != nil {
		return got, err
	}
	got, err = q.call(ctx)
	if q.splits != nil && q.splits(err) {
		q.heart.note(func(b *Beat) { b.Split++ })
		return got, err
	}
	if err != nil {
		return got, q.failed(ctx, err)
	}
	return got, nil
}

// call makes one provider call, when a lane lets it.
func (q *asking) call(ctx context.Context) (entry, error) {
	pass, err := q.enter(ctx)
	if err != nil {
		return entry{}, err
	}
	var told lane.Outcome
	defer func() { pass.Done(told) }() // also after a panic: a place that is not given back is lost for all
	if err := q.begin(ctx); err != nil {
		return entry{}, err
	}
	target := q.target()
	began := time.Now()
	got, limits, err := q.send(ctx, target)
	if ctx.Err() != nil {
		q.endings.note(q.task.ID)
	}
	told = outcome(got.Usage, limits, err)
	if err == nil && got.FinishReason == "length" {
		err = cutShort(target.Provider.Name, got.Response)
	}
	got.From, got.Cost, got.By, got.At = target.String(), target.Price.Cost(got.Usage), payer(ctx), time.Now().UTC()
	q.metered(ctx, target, began, got, err)
	return got, err
}

// complete asks a target for an answer in words.
func (q *asking) complete(ctx context.Context, target router.Target) (entry, llm.Limits, error) {
	q.heart.grew(llm.Progress{})
	response, err := target.Provider.Model.Complete(ctx, q.request(target), q.heart.grew)
	return entry{Response: response}, response.Limits, err
}

// target is who is asked now.
func (q *asking) target() router.Target {
	return q.targets[min(q.heart.now().Target, len(q.targets)-1)] // there may have been more before a restart
}

// idempotencyKey is the same for every attempt at the same request, and for no other request.
func (q *asking) idempotencyKey() string {
	key := path.Base(q.key)
	if n := q.heart.now().Target; n > 0 {
		key += fmt.Sprintf("-%d", n)
	}
	return key
}

// request is what is sent: to whom it goes, and mended if the answer before had a flaw.
func (q *asking) request(target router.Target) llm.Request {
	req := q.req
	req.Model, req.IdempotencyKey = target.Name, q.idempotencyKey()
	if q.flaw != nil {
		req = q.flaw.mend(req)
	}
	return req
}

// answer is that of an entry. What an earlier attempt of this very activity paid, and could not tell of
// because it was lost, is this activity's to tell; what another one paid is not.
func (e entry) answer(ctx context.Context, key string, b Beat) Answer {
	answer := Answer{Key: key, By: e.From, Simulated: e.Simulated, Calls: b.Calls}
	if e.By == payer(ctx) {
		b.Answered, answer.Usage = b.Answered+1, e.used()
		answer.Calls = max(b.Calls, b.Answered) // a heartbeat may have been lost with the call that it told of
	}
	answer.Usage = answer.Usage.Add(b.spent().Usage)
	return answer
}

// used is what the call for an answer used.
func (e entry) used() task.Usage {
	u := task.Usage{
		Requests: 1, InputTokens: e.Usage.InputTokens, OutputTokens: e.Usage.OutputTokens, CachedTokens: e.Usage.CachedTokens, Cost: e.Cost,
	}
	if !e.Usage.Known {
		u.UnmeteredCalls = 1
	}
	return u
}

// lostCalls is how many calls may vanish with their worker before the call itself is suspected of
// taking workers down.
const lostCalls = 10

// begin counts a call that is about to be made.
func (q *asking) begin(ctx context.Context) error {
	b := q.heart.now()
	if b.lost() >= lostCalls {
		return final(task.Errorf(task.ModelUnavailable, "the worker was lost %d times during this call; it is not made again", b.lost()), b)
	}
	q.mourn(b)
	q.heart.note(func(b *Beat) { b.Calls++ })
	q.heart.tell(ctx)
	return nil
}

// record keeps a paid answer. The provider has been paid whatever happened to the task since, so it
// stops neither for a cancel nor for a bucket that is down: only when the worker itself must go.
func (a *Activities) record(ctx context.Context, key string, paid any) error {
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

// known refers to an answer that is on record.
func (a *Activities) known(ctx context.Context, key string) (Answer, error) {
	found, err := a.entry(ctx, key)
	return Answer{Key: key, By: found.From, Simulated: found.Simulated}, err
}

// text reads an answer back.
func (a *Activities) text(ctx context.Context, key string) (string, error) {
	found, err := a.entry(ctx, key)
	return found.Text, err
}

func (a *Activities) entry(ctx context.Context, key string) (found entry, err error) {
	ok, err := a.Ledger.Look(ctx, key, &found)
	if err == nil && !ok {
		err = fmt.Errorf("the ledger has no %s", key)
	}
	return found, err
}
