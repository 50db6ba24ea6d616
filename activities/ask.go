package activities

import (
	"context"
	"fmt"
	"path"
	"time"

	"go.temporal.io/sdk/activity"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Answer refers to a model's answer in the ledger.
type Answer struct {
	Key       string // of the ledger entry
	Usage     task.Usage
	Calls     int  // made for it, the failed ones included; 0 when it was in the ledger
	Simulated bool // the simulated provider gave it
}

// entry is what the ledger keeps of an answer, and which activity paid for it.
type entry struct {
	llm.Response
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// payer names the activity that runs, over all its attempts.
func payer(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID + "/" + info.WorkflowExecution.RunID + "/" + info.ActivityID
}

// ask gets the answer to a request, from the ledger if it was paid for before. It waits its turn in
// the lane and makes one provider call at the most: Temporal makes the next attempt, which finds in
// the heartbeat what this one met. An answer is recorded before anything else can fail, even while
// being cancelled.
func (a *Activities) ask(ctx context.Context, heart *heart, t Task, step string, req llm.Request) (Answer, error) {
	if req.Model = t.Model; req.Model == "" {
		req.Model = a.DefaultModel
	}
	key, err := storage.LedgerKey(t.Lineage, step, req)
	if err != nil {
		return Answer{}, err
	}
	var found entry
	if ok, err := a.Ledger.Look(ctx, key, &found); err != nil || ok {
		return found.answer(ctx, key, heart.now().Calls), err
	}

	req.IdempotencyKey = path.Base(key) // the same for every attempt, and for no other request
	response, err := a.call(ctx, heart, t, req)
	if err != nil {
		return Answer{}, a.failed(ctx, heart, err)
	}
	if err := a.record(ctx, key, response); err != nil {
		return Answer{}, err
	}
	return Answer{Key: key, Usage: usage(response.Usage), Calls: heart.now().Calls, Simulated: response.Simulated}, nil
}

// call makes one provider call, when the lane lets it.
func (a *Activities) call(ctx context.Context, heart *heart, t Task, req llm.Request) (llm.Response, error) {
	pass, err := a.enter(ctx, heart, t, req)
	if err != nil {
		return llm.Response{}, err
	}
	var told lane.Outcome
	defer func() { pass.Done(told) }() // also after a panic: a place that is not given back is lost for all
	if err := a.begin(ctx, heart); err != nil {
		return llm.Response{}, err
	}
	response, err := a.Model.Complete(ctx, req, func(p llm.Progress) {
		heart.note(func(b *Beat) { b.Bytes = p.Bytes })
	})
	told = outcome(response, err)
	if err == nil && response.FinishReason == "length" {
		err = cutShort(response)
	}
	return response, err
}

// answer is that of an entry that was found. What an earlier attempt of this very activity paid,
// and could not tell of because it was lost, is this activity's to tell.
func (e entry) answer(ctx context.Context, key string, calls int) Answer {
	answer := Answer{Key: key, Simulated: e.Simulated}
	if e.By == payer(ctx) {
		answer.Usage, answer.Calls = usage(e.Usage), calls
	}
	return answer
}

// lostCalls is how many calls may vanish with their worker before the call itself is suspected of
// taking workers down.
const lostCalls = 10

// begin counts a call that is about to be made.
func (a *Activities) begin(ctx context.Context, heart *heart) error {
	b := heart.now()
	if lost := b.Calls - b.Errors - b.Throttled - b.Down - b.Stopped; lost >= lostCalls {
		return final(task.Errorf(task.ModelUnavailable, "the worker was lost %d times during this call; it is not made again", lost), b.Calls)
	}
	heart.note(func(b *Beat) { b.Calls++ })
	activity.RecordHeartbeat(ctx, heart.now())
	return nil
}

// record keeps a paid answer. The provider has been paid whatever happened to the task since, so it
// stops neither for a cancel nor for a bucket that is down: only when the worker itself must go.
func (a *Activities) record(ctx context.Context, key string, response llm.Response) error {
	paid := entry{Response: response, By: payer(ctx), At: time.Now().UTC()}
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
	return Answer{Key: key, Simulated: found.Simulated}, err
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

func cutShort(r llm.Response) error {
	return &llm.Error{
		Class: llm.Final, Code: task.AnswerIncomplete, Provider: r.Model, RequestID: r.RequestID, Partial: r.Usage,
		Message: "the answer was cut at the model's output limit; ask for fewer words or use another model",
	}
}

func usage(u llm.Usage) task.Usage {
	return task.Usage{Requests: 1, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedTokens: u.CachedTokens}
}
