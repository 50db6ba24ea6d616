package notify

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"

	"longhaul/activities/call"
	"longhaul/internal/notify"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// DeliverRequest asks to deliver a message. A new round begins the schedule of retries anew.
type DeliverRequest struct {
	ID    string `json:"id,omitempty"`
	Round string `json:"round,omitempty"`
}

// Deliver makes one attempt to deliver a message, writes down what came of it, and lets Temporal call it again when the
// schedule says so: waiting takes no slot of a worker, and no event of the history. A worker that is lost in the middle
// of an attempt costs that attempt, and the next has the same id and bytes.
func (a *Activities) Deliver(ctx context.Context, req DeliverRequest) (task.DeliveryStatus, error) {
	h := call.StartHeartbeat(ctx, "deliver")
	defer h.Stop()
	d, err := a.Deliveries.Get(ctx, req.ID)
	if told, ok := errors.AsType[*task.Error](err); ok {
		return "", call.Final(told, record.CallState{}) // erased with its task
	}
	if err != nil {
		return "", err
	}
	a.open(&d, req.Round)
	to, err := a.target(ctx, d)
	if err != nil {
		return "", err
	}
	if to.over != "" {
		return a.end(ctx, d, to.over, to.why)
	}
	leave, ok, dead := a.gate.Enter(lineOf(d.Tenant, to.url))
	if !ok {
		return "", later("its receiver is busy", busyFor(activity.GetInfo(ctx).Attempt, dead))
	}
	slow := false
	defer func() { leave(slow) }()
	if mailbox, ok := notify.Mailbox(to.url); ok {
		return a.mail(ctx, d, mailbox, &slow)
	}
	if err := a.begin(ctx, &d); err != nil {
		return "", err
	}
	began := time.Now()
	answer := a.Sender.Post(ctx, to.url, notify.Message{ID: d.ID, Body: []byte(d.Body)}, to.secrets)
	slow = answer.Slow
	return a.settle(ctx, d, answer, time.Since(began))
}

// lineOf is where a message queues in this worker: with others to its receiver, and all mails behind the one mail server.
func lineOf(tenant, address string) string {
	if _, ok := notify.Mailbox(address); ok {
		return "mail"
	}
	return ReceiverOf(tenant, address)
}

// busyFor is how long to wait for a receiver that others are sent to: longer each time, and longer still if it seems dead.
func busyFor(attempt int32, dead bool) time.Duration {
	most := 10 * time.Second
	if dead {
		most = 2 * time.Minute
	}
	wait := min(time.Second*time.Duration(min(attempt, 1000)), most)
	return wait/2 + rand.N(wait)
}

// open begins a round, if it is a new one. An attempt without an end was cut off with its worker.
func (a *Activities) open(d *storage.Delivery, round string) {
	if n := len(d.Attempts); n > 0 && d.Attempts[n-1].StatusCode == 0 && d.Attempts[n-1].Error == "" {
		d.Attempts[n-1].Error = "the worker was lost before an answer came"
	}
	if d.Round != round {
		d.Round, d.Failed, d.Held, d.Detail = round, 0, false, ""
	}
	d.Status, d.NextAttemptAt = task.DeliveryPending, nil
}

// begin writes down that an attempt is made.
func (a *Activities) begin(ctx context.Context, d *storage.Delivery) error {
	const most = 100 // a log is for people
	if over := len(d.Attempts) - most; over >= 0 {
		d.Attempts = d.Attempts[over+1:]
	}
	d.Detail = ""
	d.Attempts = append(d.Attempts, task.Attempt{At: time.Now().UTC().Truncate(time.Millisecond)})
	return a.Deliveries.Put(ctx, *d)
}

// settle writes down what came of an attempt, and decides what comes next.
func (a *Activities) settle(ctx context.Context, d storage.Delivery, answer notify.Answer, took time.Duration) (task.DeliveryStatus, error) {
	last := &d.Attempts[len(d.Attempts)-1]
	last.StatusCode, last.Seconds = answer.Status, took.Seconds()
	if ctx.Err() != nil && answer.Err != nil {
		last.Error = "it was interrupted from our side"
		if err := a.Deliveries.Put(context.WithoutCancel(ctx), d); err != nil {
			a.Log.WarnContext(ctx, "interrupted attempt not written down", "delivery", d.ID, "error", err)
		}
		return "", call.Stopped(ctx, record.CallState{})
	}
	if answer.Err == nil {
		return a.end(context.WithoutCancel(ctx), d, task.DeliveryDelivered, "") // it went out, whatever ends us
	}
	last.Error = answer.Err.Error()
	d.Failed++
	a.Log.InfoContext(ctx, "message not delivered", "delivery", d.ID, "task", d.Task, "receiver", notify.Receiver(d.URL), "error", last.Error, "failed", d.Failed)
	if answer.Gone {
		return a.gone(ctx, d)
	}
	wait, again := a.Retries.After(d.Failed, answer.RetryAfter)
	if answer.Final || !again {
		return a.end(ctx, d, task.DeliveryFailed, "")
	}
	d.NextAttemptAt = new(time.Now().UTC().Add(wait).Truncate(time.Millisecond))
	if err := a.Deliveries.Put(ctx, d); err != nil {
		return "", err
	}
	return "", later(last.Error, wait)
}

// gone ends a message whose receiver wants no more, and if it is a registered one sends it nothing any more.
func (a *Activities) gone(ctx context.Context, d storage.Delivery) (task.DeliveryStatus, error) {
	if d.Webhook != "" {
		if err := a.Endpoints.Disable(ctx, d.Tenant, d.Webhook, "it answered 410 to "+d.ID); err != nil {
			return "", err
		}
		a.Log.WarnContext(ctx, "webhook disabled: it answered 410", "webhook", d.Webhook, "tenant", d.Tenant)
	}
	return a.end(ctx, d, task.DeliveryDisabled, "the receiver answered 410")
}

// end is the end of a message, until somebody sends it again.
func (a *Activities) end(ctx context.Context, d storage.Delivery, status task.DeliveryStatus, why string) (task.DeliveryStatus, error) {
	d.Status, d.Detail, d.NextAttemptAt = status, why, nil
	return status, a.Deliveries.Put(ctx, d)
}
