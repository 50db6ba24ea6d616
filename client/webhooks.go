package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"longhaul/internal/task"
)

// NewWebhook is what is registered: an address or a mailbox.
type NewWebhook struct {
	URL    string          `json:"url,omitempty"`
	Email  string          `json:"email,omitempty"`
	Events []task.Occasion `json:"events,omitempty"`
}

// AddWebhook registers an address. The answer alone shows its secret.
func (c *Client) AddWebhook(ctx context.Context, n NewWebhook) (task.Endpoint, error) {
	return post[task.Endpoint](ctx, c, webhookPath(), "", n)
}

// Webhooks lists the registered addresses.
func (c *Client) Webhooks(ctx context.Context) ([]task.Endpoint, error) {
	page, err := fetch[task.Page[task.Endpoint]](ctx, c, get(webhookPath()))
	return page.Data, err
}

// DeleteWebhook removes one.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	resp, err := c.send(ctx, call{method: http.MethodDelete, path: webhookPath(id)})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// RotateWebhook gives one a new secret, which the answer alone shows.
func (c *Client) RotateWebhook(ctx context.Context, id string) (task.Endpoint, error) {
	return fetch[task.Endpoint](ctx, c, call{method: http.MethodPost, path: webhookPath(id, "rotate")})
}

// TestWebhook sends one a ping, and tells what came of it.
func (c *Client) TestWebhook(ctx context.Context, id string) (task.Attempt, error) {
	return fetch[task.Attempt](ctx, c, call{method: http.MethodPost, path: webhookPath(id, "test")})
}

// Deliveries lists the messages that tell of a task.
func (c *Client) Deliveries(ctx context.Context, id string) ([]task.Delivery, error) {
	page, err := fetch[task.Page[task.Delivery]](ctx, c, get(taskPath(id, "deliveries")))
	return page.Data, err
}

// Redeliver sends a message again.
func (c *Client) Redeliver(ctx context.Context, id string) (task.Delivery, error) {
	return fetch[task.Delivery](ctx, c, call{method: http.MethodPost, path: "/v1/deliveries/" + url.PathEscape(id) + "/redeliver"})
}

func webhookPath(steps ...string) string {
	path := []string{"/v1/webhooks"}
	for _, step := range steps {
		path = append(path, url.PathEscape(step))
	}
	return strings.Join(path, "/")
}
