package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"longhaul/activities/call"
	"longhaul/internal/notify"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// NoticeRequest asks to make the messages of one occasion.
type NoticeRequest struct {
	Task     string `json:"task,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	Notice   string `json:"notice,omitempty"`   // key of who wants to hear
	Input    string `json:"input,omitempty"`    // id of the request that needs a person; "" means that the task ended
	Revision int64  `json:"revision,omitempty"` // of the task with that request
}

// Addressed is a message that is ready to go. Receiver stands for whom it goes to: none must wait for another.
type Addressed struct {
	ID       string `json:"id,omitempty"`
	Receiver string `json:"receiver,omitempty"`
}

// How long one look for a state waits at the most, and between two of them.
const (
	lookFor   = 3 * time.Second
	lookEvery = 50 * time.Millisecond
)

// PrepareNotices waits until readers of the API see what happened, and then makes a message for each who wants to
// hear of it. Made again, the messages are the same.
func (a *Activities) PrepareNotices(ctx context.Context, req NoticeRequest) ([]Addressed, error) {
	h := call.StartHeartbeat(ctx, "wait for the state")
	defer h.Stop()
	t, err := a.see(ctx, req)
	if err != nil {
		return nil, err
	}
	if _, open := t.InputRequests[req.Input]; req.Input != "" && !open {
		return nil, nil // it was answered meanwhile
	}
	var wanted storage.Notice
	if err := a.Bucket.GetJSON(ctx, req.Notice, &wanted); err != nil {
		return nil, err
	}
	all, err := a.listeners(ctx, req.Tenant, wanted)
	if err != nil {
		return nil, err
	}
	var ready []Addressed
	for _, to := range all {
		heard := t.Heard(to.events)
		if heard == "" {
			continue
		}
		d := a.delivery(t, req, to, heard)
		if err := a.Deliveries.Add(ctx, d); err != nil {
			return nil, err
		}
		ready = append(ready, Addressed{ID: d.ID, Receiver: ReceiverOf(req.Tenant, to.url)})
	}
	return ready, nil
}

// see waits for the state that is to be told.
func (a *Activities) see(ctx context.Context, req NoticeRequest) (task.Task, error) {
	end := time.Now().Add(lookFor)
	for {
		t, err := a.Tasks.Standing(ctx, req.Tenant, req.Task)
		if told, ok := errors.AsType[*task.Error](err); ok && told.Code == task.NotFound {
			return t, call.Final(told, record.CallState{})
		}
		if err != nil {
			return t, err
		}
		if t.Done || req.Input != "" && t.Revision >= req.Revision {
			return t, nil
		}
		if time.Now().After(end) {
			return t, later("the task's new state cannot be read yet", time.Second)
		}
		select {
		case <-ctx.Done():
			return t, call.Stopped(ctx, record.CallState{})
		case <-time.After(lookEvery):
		}
	}
}

// listener is somebody who wants to hear. Its name tells it from the others of its task.
type listener struct {
	name, url, endpoint string
	events              []task.Occasion
}

// listeners are all who want to hear, as they are registered now.
func (a *Activities) listeners(ctx context.Context, tenant string, wanted storage.Notice) ([]listener, error) {
	var all []listener
	if w := wanted.Webhook; w != nil {
		all = append(all, listener{name: "webhook", url: w.URL, events: w.Events})
	}
	if wanted.Email != "" {
		all = append(all, listener{name: "email", url: notify.Mailto(wanted.Email)})
	}
	for _, id := range wanted.Endpoints {
		e, err := a.Endpoints.Get(ctx, tenant, id)
		switch {
		case err == nil:
			all = append(all, listener{name: id, url: e.URL, endpoint: id, events: e.Events})
		case !missing(err): // one that was removed hears nothing
			return nil, err
		}
	}
	return all, nil
}

// delivery is the message to one of them.
func (a *Activities) delivery(t task.Task, req NoticeRequest, to listener, heard task.Occasion) storage.Delivery {
	what := "ended"
	if req.Input != "" {
		what = "input " + req.Input
	}
	return storage.Delivery{
		Delivery: task.Delivery{
			ID: storage.DeliveryID(t.ID, what, to.name), Object: "delivery", Task: t.ID, Webhook: to.endpoint, Event: heard,
			URL: notify.Masked(to.url), Status: task.DeliveryPending, CreatedAt: time.Now().UTC().Truncate(time.Millisecond), Attempts: []task.Attempt{},
		},
		Tenant: req.Tenant, Notice: req.Notice, Body: a.body(t, heard),
	}
}

// bulletin is the body of a webhook. It is thin: what is not in it is read where url says.
type bulletin struct {
	Type      task.Occasion `json:"type"`
	Timestamp time.Time     `json:"timestamp"`
	Data      standing      `json:"data"`
}

// standing is what a message says of a task.
type standing struct {
	ID            string            `json:"id"`
	Kind          string            `json:"kind"`
	Status        task.State        `json:"status"`
	Outcome       task.Outcome      `json:"outcome,omitempty"`
	Revision      int64             `json:"revision"`
	URL           string            `json:"url"`
	Labels        map[string]string `json:"labels"`
	DeadLetter    bool              `json:"dead_letter,omitempty"`
	InputRequests []string          `json:"input_requests,omitempty"`
	Error         *whyFailed        `json:"error,omitempty"`
}

// whyFailed is why a task failed.
type whyFailed struct {
	Code     task.Code `json:"code"`
	Detail   string    `json:"detail"`
	Attempts int       `json:"attempts,omitempty"`
}

func (a *Activities) body(t task.Task, occasion task.Occasion) string {
	m := bulletin{Type: occasion, Timestamp: t.UpdatedAt.UTC(), Data: standing{
		ID: t.ID, Kind: t.Kind, Status: t.Status, Outcome: t.Outcome, Revision: t.Revision, URL: a.PublicURL + t.URLs.Self, Labels: t.Labels, DeadLetter: t.DeadLetter,
		InputRequests: slices.Sorted(maps.Keys(t.InputRequests)),
	}}
	if t.FinishedAt != nil {
		m.Timestamp = t.FinishedAt.UTC()
	}
	if t.Error != nil {
		m.Data.Error = &whyFailed{Code: t.Error.Code, Detail: t.Error.Detail, Attempts: t.Error.Attempts}
	}
	text, _ := json.Marshal(m) // nothing in it can fail
	return string(text)
}

// ReceiverOf is what stands for the receiver of a tenant's messages where fairness is kept.
func ReceiverOf(tenant, address string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + notify.Receiver(address)))
	return hex.EncodeToString(sum[:16])
}
