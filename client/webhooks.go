package client

import (
	"context"
	"net/http"

	"longhaul/internal/task"
)

// Webhook is where a task sends its messages, in NewTask.
type Webhook = task.Webhook

// Occasion is what a message reports; no occasions mean all of them.
type Occasion = task.Occasion

// The occasions. OnPing is only sent by TestWebhook.
const (
	OnSucceeded     = task.OnSucceeded
	OnFailed        = task.OnFailed
	OnCancelled     = task.OnCancelled
	OnDeadLettered  = task.OnDeadLettered
	OnInputRequired = task.OnInputRequired
	OnPing          = task.OnPing
)

// NewWebhook is an address or a mailbox to register. Exactly one of URL and Email is set.
type NewWebhook struct {
	URL    string     `json:"url,omitempty"`
	Email  string     `json:"email,omitempty"`
	Events []Occasion `json:"events,omitempty"`
}

// Endpoint is a registered webhook: it gets a message about every task that is created after it.
type Endpoint = task.Endpoint

// Disabled is why an Endpoint gets no messages any more. A test that arrives enables it.
type Disabled = task.Disabled

// Delivery is a message to one address, with every attempt to deliver it.
type Delivery = task.Delivery

// Attempt is one attempt to deliver a message.
type Attempt = task.Attempt

// DeliveryStatus is the status of a delivery.
type DeliveryStatus = task.DeliveryStatus

// The statuses of deliveries.
const (
	DeliveryPending   = task.DeliveryPending
	DeliveryDelivered = task.DeliveryDelivered
	DeliveryFailed    = task.DeliveryFailed    // after the last attempt
	DeliveryDisabled  = task.DeliveryDisabled  // the receiver answered that it is gone
	DeliveryCancelled = task.DeliveryCancelled // the webhook was deleted
)

// AddWebhook registers a webhook. Only its answer and that of RotateWebhook have the Secret. Repeating it registers a second
// webhook.
func (c *Client) AddWebhook(ctx context.Context, n NewWebhook) (Endpoint, error) {
	return post[Endpoint](ctx, c, "/v1/webhooks", n)
}

// Webhooks returns the registered webhooks.
func (c *Client) Webhooks(ctx context.Context) ([]Endpoint, error) {
	return list[Endpoint](ctx, c, "/v1/webhooks")
}

// DeleteWebhook deletes a webhook and cancels its deliveries. Repeating it is NotFound.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	return c.execute(ctx, call{method: http.MethodDelete, path: pathOf("/v1/webhooks", id)})
}

// RotateWebhook replaces the secret of a webhook. For a day messages are signed with both secrets. A mailbox, which has no secret,
// is a Conflict. Repeating it makes another secret.
func (c *Client) RotateWebhook(ctx context.Context, id string) (Endpoint, error) {
	return post[Endpoint](ctx, c, pathOf("/v1/webhooks", id, "rotate"), nil)
}

// TestWebhook sends a ping to a webhook. A ping that does not arrive is not an error: see Attempt.Error. Repeating it sends
// another ping.
func (c *Client) TestWebhook(ctx context.Context, id string) (Attempt, error) {
	return post[Attempt](ctx, c, pathOf("/v1/webhooks", id, "test"), nil)
}

// Deliveries returns the messages about a task.
func (c *Client) Deliveries(ctx context.Context, id string) ([]Delivery, error) {
	return list[Delivery](ctx, c, taskPath(id, "deliveries"))
}

// Redeliver sends a message again, with the same message id, whatever its status. A webhook that is deleted or disabled is a
// Conflict. Repeating it sends the message once more.
func (c *Client) Redeliver(ctx context.Context, id string) (Delivery, error) {
	return post[Delivery](ctx, c, pathOf("/v1/deliveries", id, "redeliver"), nil)
}
