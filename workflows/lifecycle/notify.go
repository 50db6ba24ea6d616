package lifecycle

import (
	"go.temporal.io/sdk/workflow"

	"longhaul/activities/notify"
	"longhaul/internal/record"
)

// notifyEnd starts the notifications of the task's end. They tell what readers see by then.
func (r *Run) notifyEnd(ctx workflow.Context) {
	r.notify(ctx, r.Facts.ID+".ended", notify.NoticeRequest{})
}

// notifyInput starts the notifications that the task waits for a person.
func (r *Run) notifyInput(ctx workflow.Context, request string) {
	r.notify(ctx, r.Facts.ID+".input-"+request, notify.NoticeRequest{Input: request, Revision: r.State.Revision})
}

// notify starts a workflow that outlives the task and does not delay it. Its id names the event, so each event is
// notified once. A failure to start it does not fail the task.
func (r *Run) notify(ctx workflow.Context, id string, req notify.NoticeRequest) {
	if r.Facts.Notify == "" {
		return
	}
	req.Task, req.Tenant, req.Notice = r.Facts.ID, r.Facts.Tenant, r.Facts.Notify
	if err := StartAbandoned(ctx, id, record.TypeNotify, "notify the receivers", req); err != nil {
		workflow.GetLogger(ctx).Error("notification not started", "task", r.Facts.ID, "notify", id, "error", err)
	}
}
