package engine

import (
	"context"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	notifyacts "longhaul/activities/notify"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// notice keeps who wants to hear of a task, and gives the key of it; "" when nobody does.
func (e *Engine) notice(ctx context.Context, d task.Draft, f record.Facts) (string, error) {
	if d.Email != "" && !e.Mail {
		return "", noMail("/notify/email")
	}
	if w := d.Webhook; w != nil && storage.IsEndpointID(w.Secret) {
		if _, err := e.endpoints.Get(ctx, d.Tenant, w.Secret); err != nil {
			if task.AsError(err).Code == task.NotFound {
				err = invalid("/webhook/secret", "no webhook %q is registered", w.Secret)
			}
			return "", err
		}
	}
	ids, err := e.endpoints.IDs(ctx, d.Tenant)
	if err != nil {
		return "", task.Errorf(task.Unavailable, "the bucket cannot be read; nothing was started, try again in a moment").Because(err)
	}
	wanted := storage.Notice{Webhook: d.Webhook, Email: d.Email, Endpoints: ids}
	if wanted.Nobody() {
		return "", nil
	}
	key := storage.NoticeKey(f.ID, f.BodyHash[:16])
	if err := e.Bucket.PutJSON(ctx, key, wanted); err != nil {
		return "", task.Errorf(task.Unavailable, "the bucket cannot be written; nothing was started, try again in a moment").Because(err)
	}
	return key, nil
}

// Deliveries lists the messages that tell of a task, the oldest first.
func (e *Engine) Deliveries(ctx context.Context, tenant, id string) (task.Page[task.Delivery], error) {
	page := task.Page[task.Delivery]{Object: "list", Data: []task.Delivery{}}
	if _, err := e.Standing(ctx, tenant, id); err != nil {
		return page, err
	}
	all, err := e.deliveries.Of(ctx, id)
	slices.SortFunc(all, func(a, b storage.Delivery) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, d := range all {
		now, err := e.asItIs(ctx, d)
		if err != nil {
			return page, err
		}
		page.Data = append(page.Data, now)
	}
	return page, err
}

// asItIs is a message with what its next attempt would find: that nobody wants it any more.
func (e *Engine) asItIs(ctx context.Context, d storage.Delivery) (task.Delivery, error) {
	out := d.Delivery
	if d.Webhook == "" || d.Status != task.DeliveryPending {
		return out, nil
	}
	to, err := e.endpoints.Get(ctx, d.Tenant, d.Webhook)
	switch {
	case err != nil && task.AsError(err).Code == task.NotFound:
		out.Status, out.Detail, out.NextAttemptAt = task.DeliveryCancelled, "endpoint removed", nil
	case err != nil:
		return out, err
	case to.Disabled != nil:
		out.Status, out.Detail, out.NextAttemptAt = task.DeliveryDisabled, to.Disabled.Reason, nil
	}
	return out, nil
}

// Redeliver has a message sent again, now and whatever became of it: the same id, the same bytes, the schedule anew.
// Of a task nothing is changed, and none is started.
func (e *Engine) Redeliver(ctx context.Context, tenant, id string) (task.Delivery, error) {
	d, err := e.deliveries.Get(ctx, id)
	if err == nil && d.Tenant != tenant {
		err = task.Errorf(task.NotFound, "no delivery %q", id)
	}
	if err != nil {
		return task.Delivery{}, err
	}
	if d.Webhook != "" {
		to, err := e.endpoints.Get(ctx, tenant, d.Webhook)
		switch {
		case err != nil && task.AsError(err).Code == task.NotFound:
			return d.Delivery, task.Errorf(task.Conflict, "its webhook %s was removed", d.Webhook)
		case err != nil:
			return d.Delivery, err
		case to.Disabled != nil:
			return d.Delivery, task.Errorf(task.Conflict, "its webhook %s is disabled (%s); test it, which lifts that when the test arrives", d.Webhook, to.Disabled.Reason)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	_, err = e.Client.SignalWithStartWorkflow(ctx, id, record.SignalRedeliver, nil, client.StartWorkflowOptions{
		TaskQueue: record.QueueWorkflows, WorkflowTaskTimeout: record.WorkflowTaskTimeout, StaticSummary: "deliver a message of " + d.Task + " again",
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, record.TypeDeliver, notifyacts.Addressed{ID: id, Receiver: notifyacts.ReceiverOf(tenant, d.URL)})
	if err != nil {
		return d.Delivery, words(err, id)
	}
	out := d.Delivery
	out.Status, out.Detail, out.NextAttemptAt = task.DeliveryPending, "", nil
	return out, nil
}
