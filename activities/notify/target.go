package notify

import (
	"context"
	"errors"
	"time"

	"longhaul/activities/call"
	"longhaul/internal/notify"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// target is where a message goes now, or why it goes nowhere any more.
type target struct {
	url     string
	secrets []string
	over    task.DeliveryStatus
	why     string
}

// target looks the address up at each attempt: it may have been removed since, and the secret replaced.
func (a *Activities) target(ctx context.Context, d storage.Delivery) (target, error) {
	if d.Webhook != "" {
		e, err := a.Endpoints.Get(ctx, d.Tenant, d.Webhook)
		switch {
		case missing(err):
			return target{over: task.DeliveryCancelled, why: "endpoint removed"}, nil
		case err != nil:
			return target{}, err
		case e.Disabled != nil:
			return target{over: task.DeliveryDisabled, why: e.Disabled.Reason}, nil
		}
		return target{url: e.URL, secrets: e.Signing(time.Now())}, nil
	}
	var wanted storage.Notice
	if err := a.Bucket.GetJSON(ctx, d.Notice, &wanted); err != nil {
		return target{}, err
	}
	if _, ok := notify.Mailbox(d.URL); ok {
		return target{url: notify.Mailto(wanted.Email)}, nil
	}
	return a.signed(ctx, d.Tenant, *wanted.Webhook)
}

// signed is the webhook of a task with its secret: its own, or those of a registered one.
func (a *Activities) signed(ctx context.Context, tenant string, w task.Webhook) (target, error) {
	switch {
	case w.Secret == "":
		return target{url: w.URL}, nil
	case !storage.IsEndpointID(w.Secret):
		return target{url: w.URL, secrets: []string{w.Secret}}, nil
	}
	e, err := a.Endpoints.Get(ctx, tenant, w.Secret)
	if missing(err) {
		return target{over: task.DeliveryFailed, why: "the webhook whose secret was to sign was removed"}, nil
	}
	return target{url: w.URL, secrets: e.Signing(time.Now())}, err
}

func missing(err error) bool {
	told, ok := errors.AsType[*task.Error](err)
	return ok && told.Code == task.NotFound
}

// PingRequest asks to try whether messages arrive at a registered webhook.
type PingRequest struct {
	Tenant   string `json:"tenant,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	ID       string `json:"id,omitempty"` // of the message
}

// Ping makes one attempt to send a message that says nothing. If it arrives, an endpoint that was disabled is sent to again.
func (a *Activities) Ping(ctx context.Context, req PingRequest) (task.Attempt, error) {
	h := call.StartHeartbeat(ctx, "ping")
	defer h.Stop()
	e, err := a.Endpoints.Get(ctx, req.Tenant, req.Endpoint)
	if err != nil {
		return task.Attempt{}, call.DocumentError(ctx, err)
	}
	began := time.Now()
	attempt := task.Attempt{At: began.UTC().Truncate(time.Millisecond)}
	answer := a.ping(ctx, e, req.ID, attempt.At)
	attempt.StatusCode, attempt.Seconds = answer.Status, time.Since(began).Seconds()
	if answer.Err != nil {
		attempt.Error = answer.Err.Error()
		return attempt, nil
	}
	return attempt, a.Endpoints.Enable(ctx, req.Tenant, req.Endpoint)
}

func (a *Activities) ping(ctx context.Context, e storage.Endpoint, id string, now time.Time) notify.Answer {
	if mailbox, ok := notify.Mailbox(e.URL); ok {
		return a.post(ctx, id, notify.Mail{To: mailbox, Subject: "[longhaul] a test", Text: "Messages of longhaul arrive here.\n"})
	}
	body := `{"type":"ping","timestamp":"` + now.Format(time.RFC3339Nano) + `","data":{"webhook_id":"` + e.ID + `"}}`
	return a.Sender.Post(ctx, e.URL, notify.Message{ID: id, Body: []byte(body)}, e.Signing(now))
}
