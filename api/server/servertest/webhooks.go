package servertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"longhaul/internal/task"
)

// Hooks are webhooks in memory, of which nothing is ever sent.
type Hooks struct {
	Tasks *Tasks

	mu    sync.Mutex
	hooks []hook
	made  int
}

type hook struct {
	tenant   string
	endpoint task.Endpoint
}

// AddWebhook keeps an address.
func (h *Hooks) AddWebhook(_ context.Context, tenant string, w task.Webhook) (task.Endpoint, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	e := task.Endpoint{ID: fmt.Sprintf("wh_%d", h.made), Object: "webhook", URL: w.URL, Events: w.Events, CreatedAt: time.Now().UTC()}
	if e.Events == nil {
		e.Events = []task.Occasion{}
	}
	h.hooks = append(h.hooks, hook{tenant, e})
	return h.secret(e), nil
}

func (h *Hooks) secret(e task.Endpoint) task.Endpoint {
	e.Secret = fmt.Sprintf("whsec_%d", h.made)
	return e
}

// Webhooks lists them.
func (h *Hooks) Webhooks(_ context.Context, tenant string) (task.Page[task.Endpoint], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var page task.Page[task.Endpoint]
	for _, one := range h.hooks {
		if one.tenant == tenant {
			page.Data = append(page.Data, one.endpoint)
		}
	}
	return page, nil
}

// find must be called with the lock held.
func (h *Hooks) find(tenant, id string) (int, error) {
	i := slices.IndexFunc(h.hooks, func(one hook) bool { return one.tenant == tenant && one.endpoint.ID == id })
	if i < 0 {
		return i, task.Errorf(task.NotFound, "no webhook %q", id)
	}
	return i, nil
}

// DeleteWebhook forgets one.
func (h *Hooks) DeleteWebhook(_ context.Context, tenant, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := h.find(tenant, id)
	if err == nil {
		h.hooks = slices.Delete(h.hooks, i, i+1)
	}
	return err
}

// RotateWebhook gives one another secret.
func (h *Hooks) RotateWebhook(_ context.Context, tenant, id string) (task.Endpoint, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := h.find(tenant, id)
	if err != nil {
		return task.Endpoint{}, err
	}
	h.made++
	return h.secret(h.hooks[i].endpoint), nil
}

// TestWebhook says that nobody listens.
func (h *Hooks) TestWebhook(_ context.Context, tenant, id string) (task.Attempt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.find(tenant, id)
	return task.Attempt{At: time.Now().UTC(), Error: "it refused the connection"}, err
}

// Deliveries tells of one message of each task that is there.
func (h *Hooks) Deliveries(ctx context.Context, tenant, id string) (task.Page[task.Delivery], error) {
	var page task.Page[task.Delivery]
	t, err := h.Tasks.Get(ctx, tenant, id)
	if err == nil {
		page.Data = []task.Delivery{delivery(t)}
	}
	return page, err
}

func delivery(t task.Task) task.Delivery {
	return task.Delivery{
		ID: "msg_" + t.ID, Object: "delivery", Task: t.ID, Event: task.OnSucceeded, URL: "https://example.com/", Status: task.DeliveryFailed,
		CreatedAt: t.CreatedAt, Attempts: []task.Attempt{{At: t.CreatedAt, StatusCode: 500, Error: "it answered 500", Seconds: 0.5}},
	}
}

// Redeliver takes the id of a message that Deliveries told of.
func (h *Hooks) Redeliver(ctx context.Context, tenant, id string) (task.Delivery, error) {
	t, err := h.Tasks.Get(ctx, tenant, id[min(len("msg_"), len(id)):])
	if err != nil {
		return task.Delivery{}, task.Errorf(task.NotFound, "no delivery %q", id)
	}
	d := delivery(t)
	d.Status = task.DeliveryPending
	return d, nil
}
