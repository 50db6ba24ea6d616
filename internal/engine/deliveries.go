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

// storeNotice writes the receivers of a task's notifications to the bucket and returns the key; "" if there are no receivers.
func (e *Engine) storeNotice(ctx context.Context, d task.Draft, f record.Facts) (string, error) {
	if d.Email != "" && !e.Mail {
		return "", mailNotConfigured("/notify/email")
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
		return "", task.Errorf(task.Unavailable, "the bucket cannot be read, so no task was started; try again in a moment").Because(err)
	}
	receivers := storage.Notice{Webhook: d.Webhook, Email: d.Email, Endpoints: ids}
	if receivers.Nobody() {
		return "", nil
	}
	key := storage.NoticeKey(f.ID, f.BodyHash[:16])
	if err := e.Bucket.PutJSON(ctx, key, receivers); err != nil {
		return "", task.Errorf(task.Unavailable, "the bucket cannot be written, so no task was started; try again in a moment").Because(err)
	}
	return key, nil
}

// Deliveries lists the notifications of a task, oldest first.
func (e *Engine) Deliveries(ctx context.Context, tenant, id string) (task.Page[task.Delivery], error) {
	page := task.Page[task.Delivery]{Object: "list", Data: []task.Delivery{}}
	if _, err := e.Standing(ctx, tenant, id); err != nil {
		return page, err
	}
	all, err := e.deliveries.Of(ctx, id)
	slices.SortFunc(all, func(a, b storage.Delivery) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, d := range all {
		current, err := e.currentDelivery(ctx, d)
		if err != nil {
			return page, err
		}
		page.Data = append(page.Data, current)
	}
	return page, err
}

// currentDelivery returns a delivery with the state that its next attempt would set: cancelled or disabled, if its webhook was removed or disabled.
func (e *Engine) currentDelivery(ctx context.Context, d storage.Delivery) (task.Delivery, error) {
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

// Redeliver sends a notification again at once, whatever its state: the same id and bytes, with a new schedule of attempts. The task is not
// changed.
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
			return d.Delivery, task.Errorf(task.Conflict, "webhook %s of this delivery was removed, so the message cannot be sent again", d.Webhook)
		case err != nil:
			return d.Delivery, err
		case to.Disabled != nil:
			return d.Delivery, task.Errorf(task.Conflict, "webhook %s of this delivery is disabled (%s); a successful test of the webhook enables it again", d.Webhook, to.Disabled.Reason)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	_, err = e.Client.SignalWithStartWorkflow(ctx, id, record.SignalRedeliver, nil, client.StartWorkflowOptions{
		TaskQueue: record.QueueWorkflows, WorkflowTaskTimeout: record.WorkflowTaskTimeout, StaticSummary: "redeliver a message of " + d.Task,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, record.TypeDeliver, notifyacts.Addressed{ID: id, Receiver: notifyacts.ReceiverOf(tenant, d.URL)})
	if err != nil {
		return d.Delivery, translateError(err, id)
	}
	out := d.Delivery
	out.Status, out.Detail, out.NextAttemptAt = task.DeliveryPending, "", nil
	return out, nil
}
