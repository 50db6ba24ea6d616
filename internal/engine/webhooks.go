package engine

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	notifyacts "longhaul/activities/notify"
	"longhaul/internal/notify"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// maxWebhooks is how many webhooks a tenant may register. Every task of the tenant checks each of them.
const maxWebhooks = 20

// secretOverlap is how long a replaced secret still signs messages, beside the new one.
const secretOverlap = 24 * time.Hour

// AddWebhook registers a webhook or mailbox for a tenant. Only AddWebhook and RotateWebhook return the secret.
func (e *Engine) AddWebhook(ctx context.Context, tenant string, w task.Webhook) (task.Endpoint, error) {
	_, mail := notify.Mailbox(w.URL)
	if mail && !e.Mail {
		return task.Endpoint{}, mailNotConfigured("/email")
	}
	ids, err := e.endpoints.IDs(ctx, tenant)
	if err != nil {
		return task.Endpoint{}, err
	}
	if len(ids) >= maxWebhooks {
		return task.Endpoint{}, task.Errorf(task.TooMany, "%d webhooks are registered, and the limit is %d; delete a webhook first", len(ids), maxWebhooks)
	}
	endpoint := storage.Endpoint{Endpoint: task.Endpoint{URL: w.URL, Events: w.Events}}
	if !mail {
		endpoint.Secrets = []storage.Secret{{Text: notify.NewSecret()}}
	}
	if endpoint, err = e.endpoints.Add(ctx, tenant, endpoint); err != nil {
		return task.Endpoint{}, err
	}
	return withSecret(endpoint), nil
}

func mailNotConfigured(pointer string) *task.Error {
	return invalid(pointer, "mail cannot be sent, because no mail server is configured; the operator sets smtp.host")
}

// withoutSecret returns an endpoint as its tenant may always see it: without the secret, and with the URL masked.
func withoutSecret(e storage.Endpoint) task.Endpoint {
	out := e.Endpoint
	out.URL, out.Secret = notify.Masked(out.URL), ""
	if out.Events == nil {
		out.Events = []task.Occasion{}
	}
	return out
}

// withSecret returns an endpoint with its current secret.
func withSecret(e storage.Endpoint) task.Endpoint {
	out := withoutSecret(e)
	if len(e.Secrets) > 0 {
		out.Secret = e.Secrets[0].Text
	}
	return out
}

// Webhooks lists the webhooks of a tenant, oldest first, without their secrets.
func (e *Engine) Webhooks(ctx context.Context, tenant string) (task.Page[task.Endpoint], error) {
	all, err := e.endpoints.List(ctx, tenant)
	slices.SortFunc(all, func(a, b storage.Endpoint) int { return a.CreatedAt.Compare(b.CreatedAt) })
	page := task.Page[task.Endpoint]{Object: "list", Data: []task.Endpoint{}}
	for _, endpoint := range all {
		page.Data = append(page.Data, withoutSecret(endpoint))
	}
	return page, err
}

// DeleteWebhook removes a webhook. Its pending deliveries are cancelled at their next attempt.
func (e *Engine) DeleteWebhook(ctx context.Context, tenant, id string) error {
	if _, err := e.endpoints.Get(ctx, tenant, id); err != nil {
		return err
	}
	return e.endpoints.Delete(ctx, tenant, id)
}

// RotateWebhook gives a webhook a new secret. The old one still signs messages for secretOverlap.
func (e *Engine) RotateWebhook(ctx context.Context, tenant, id string) (task.Endpoint, error) {
	endpoint, err := e.endpoints.Get(ctx, tenant, id)
	if err != nil {
		return task.Endpoint{}, err
	}
	if len(endpoint.Secrets) == 0 {
		return task.Endpoint{}, task.Errorf(task.Conflict, "the webhook sends mail, which is not signed, so there is no secret to rotate")
	}
	now := time.Now().UTC()
	secrets := []storage.Secret{{Text: notify.NewSecret()}}
	for _, old := range endpoint.Secrets {
		if old.Until.IsZero() {
			old.Until = now.Add(secretOverlap)
		}
		if now.Before(old.Until) {
			secrets = append(secrets, old)
		}
	}
	endpoint.Secrets = secrets
	if err := e.endpoints.Put(ctx, tenant, endpoint); err != nil {
		return task.Endpoint{}, err
	}
	return withSecret(endpoint), nil
}

// pingTimeout is how long a test of a webhook may take: an attempt may take 15 seconds.
const pingTimeout = 25 * time.Second

// TestWebhook makes a worker send a test message to a webhook and returns the outcome of that attempt.
func (e *Engine) TestWebhook(ctx context.Context, tenant, id string) (task.Attempt, error) {
	var attempt task.Attempt
	if _, err := e.endpoints.Get(ctx, tenant, id); err != nil {
		return attempt, err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	message := "ping_" + strings.ToLower(rand.Text())
	run, err := e.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: message, TaskQueue: record.QueueWorkflows, WorkflowTaskTimeout: record.WorkflowTaskTimeout,
		WorkflowExecutionTimeout: pingTimeout, StaticSummary: "test a webhook",
	}, record.TypePing, notifyacts.PingRequest{Tenant: tenant, Endpoint: id, ID: message})
	if err == nil {
		err = run.Get(ctx, &attempt)
	}
	if err != nil {
		return attempt, task.Errorf(task.Unavailable, "no worker sent the test within %s; check that a worker runs, then try again", pingTimeout).Because(err)
	}
	return attempt, nil
}
