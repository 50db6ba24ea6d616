package notify

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"longhaul/internal/notify"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Activities make and deliver messages. They have a queue of their own, so a receiver that does not answer delays
// nothing else.
type Activities struct {
	Bucket     *storage.Bucket
	Endpoints  storage.Endpoints
	Deliveries storage.Deliveries
	Tasks      TaskReader
	Sender     *notify.Sender
	Mailer     *notify.Mailer // nil: no mails are sent
	Retries    notify.Schedule
	AlertEvery time.Duration // how often a registered mailbox is told of failures at the most
	PublicURL  string        // where the API is for the world; "" means that messages hold paths only
	Log        *slog.Logger

	gate notify.Gate
}

// TaskReader returns a task as readers of the API see it at this moment.
type TaskReader interface {
	Standing(ctx context.Context, tenant, id string) (task.Task, error)
}

// later makes an error after which Temporal tries again when the wait is over. It is business as usual, and nothing
// that a log needs to know.
func later(why string, wait time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(why, "later", temporal.ApplicationErrorOptions{
		NextRetryDelay: max(wait, time.Millisecond), Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// Queues lists the activities by task queue.
func (a *Activities) Queues() map[string][]any {
	return map[string][]any{record.QueueNotify: {a.PrepareNotices, a.Deliver, a.Ping}}
}
