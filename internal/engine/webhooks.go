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

// mostEndpoints is how many webhooks a tenant may register: each is looked at for every one of its tasks.
const mostEndpoints = 20

// rotation is how long an old secret goes on signing beside its successor.
const rotation = 24 * time.Hour

// AddWebhook registers an address for a tenant. The answer alone shows the secret.
func (e *Engine) AddWebhook(ctx context.Context, tenant string, w task.Webhook) (task.Endpoint, error) {
	_, mail := notify.Mailbox(w.URL)
	if mail && !e.Mail {
		return task.Endpoint{}, noMail("/email")
	}
	ids, err := e.endpoints.IDs(ctx, tenant)
	if err != nil {
		return task.Endpoint{}, err
	}
	if len(ids) >= mostEndpoints {
		return task.Endpoint{}, task.Errorf(task.TooMany, "there are %d webhooks already, the most that may be registered; delete one first", len(ids))
	}
	made := storage.Endpoint{Endpoint: task.Endpoint{URL: w.URL, Events: w.Events}}
	if !mail {
		made.Secrets = []storage.Secret{{Text: notify.NewSecret()}}
	}
	if made, err = e.endpoints.Add(ctx, tenant, made); err != nil {
		return task.Endpoint{}, err
	}
	return showSecret(made), nil
}

func noMail(pointer string) *task.Error {
	return invalid(pointer, "mails cannot be sent: the operator has configured no mail server (smtp.host)")
}

// shown is an endpoint as anybody of its tenant may see it at any time.
func shown(e storage.Endpoint) task.Endpoint {
	out := e.Endpoint
	out.URL, out.Secret = notify.Masked(out.URL), ""
	if out.Events == nil {
		out.Events = []task.Occasion{}
	}
	return out
}

// showSecret is an endpoint in the one answer that shows its secret.
func showSecret(e storage.Endpoint) task.Endpoint {
	out := shown(e)
	if len(e.Secrets) > 0 {
		out.Secret = e.Secrets[0].Text
	}
	return out
}

// Webhooks lists what a tenant registered, the oldest first.
func (e *Engine) Webhooks(ctx context.Context, tenant string) (task.Page[task.Endpoint], error) {
	all, err := e.endpoints.List(ctx, tenant)
	slices.SortFunc(all, func(a, b storage.Endpoint) int { return a.CreatedAt.Compare(b.CreatedAt) })
	page := task.Page[task.Endpoint]{Object: "list", Data: []task.Endpoint{}}
	for _, one := range all {
		page.Data = append(page.Data, shown(one))
	}
	return page, err
}

// DeleteWebhook removes a registered address. Nothing is sent to it any more, what waits to be included.
func (e *Engine) DeleteWebhook(ctx context.Context, tenant, id string) error {
	if _, err := e.endpoints.Get(ctx, tenant, id); err != nil {
		return err
	}
	return e.endpoints.Delete(ctx, tenant, id)
}

// RotateWebhook gives an address a new secret. The one before signs beside it for a day.
func (e *Engine) RotateWebhook(ctx context.Context, tenant, id string) (task.Endpoint, error) {
	one, err := e.endpoints.Get(ctx, tenant, id)
	if err != nil {
		return task.Endpoint{}, err
	}
	if len(one.Secrets) == 0 {
		return task.Endpoint{}, task.Errorf(task.Conflict, "mails are not signed, so there is no secret to replace")
	}
	now := time.Now().UTC()
	secrets := []storage.Secret{{Text: notify.NewSecret()}}
	for _, old := range one.Secrets {
		if old.Until.IsZero() {
			old.Until = now.Add(rotation)
		}
		if now.Before(old.Until) {
			secrets = append(secrets, old)
		}
	}
	one.Secrets = secrets
	if err := e.endpoints.Put(ctx, tenant, one); err != nil {
		return task.Endpoint{}, err
	}
	return showSecret(one), nil
}

// patienceWithPing is how long somebody waits for a test: an attempt may take a quarter of a minute.
const patienceWithPing = 25 * time.Second

// TestWebhook has a worker send a registered address a message that says nothing, and tells what came of it.
func (e *Engine) TestWebhook(ctx context.Context, tenant, id string) (task.Attempt, error) {
	var attempt task.Attempt
	if _, err := e.endpoints.Get(ctx, tenant, id); err != nil {
		return attempt, err
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithPing)
	defer cancel()
	message := "ping_" + strings.ToLower(rand.Text())
	run, err := e.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: message, TaskQueue: record.QueueWorkflows, WorkflowTaskTimeout: record.WorkflowTaskTimeout,
		WorkflowExecutionTimeout: patienceWithPing, StaticSummary: "test a webhook",
	}, record.TypePing, notifyacts.PingRequest{Tenant: tenant, Endpoint: id, ID: message})
	if err == nil {
		err = run.Get(ctx, &attempt)
	}
	if err != nil {
		return attempt, task.Errorf(task.Unavailable, "no worker sent the test in time; try again in a moment").Because(err)
	}
	return attempt, nil
}
