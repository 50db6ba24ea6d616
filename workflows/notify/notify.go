package notify

import (
	"fmt"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "longhaul/activities/notify"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows/lifecycle"
)

// tells names the activities that tell with their types; it is never called.
var do *activities.Activities

// Register registers the workflows.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Notify, workflow.RegisterOptions{Name: record.TypeNotify})
	r.RegisterWorkflowWithOptions(Deliver, workflow.RegisterOptions{Name: record.TypeDeliver})
	r.RegisterWorkflowWithOptions(Ping, workflow.RegisterOptions{Name: record.TypePing})
}

// Notify makes the messages of one event and starts a delivery for each.
func Notify(ctx workflow.Context, what activities.NoticeRequest) error {
	var ready []activities.Addressed
	err := workflow.ExecuteActivity(lifecycle.NotifyWork(ctx, what.Tenant, "wait for the state"), do.PrepareNotices, what).Get(ctx, &ready)
	if err != nil {
		return err
	}
	for _, m := range ready {
		if err := lifecycle.StartAbandoned(ctx, m.ID, record.TypeDeliver, "deliver a message of "+what.Task, m); err != nil {
			return err
		}
	}
	return nil
}

// Deliver delivers one message: an activity that Temporal retries by the schedule. A redeliver signal sends at once
// and restarts the schedule.
func Deliver(ctx workflow.Context, m activities.Addressed) (status task.DeliveryStatus, err error) {
	again := workflow.GetSignalChannel(ctx, record.SignalRedeliver)
	for again.ReceiveAsync(nil) { // who started it by asking is served by its start
	}
	for round := 0; ; round++ {
		req := activities.DeliverRequest{ID: m.ID, Round: fmt.Sprintf("%s/%d", workflow.GetInfo(ctx).OriginalRunID, round)}
		sending, stop := workflow.WithCancel(ctx)
		sent := workflow.ExecuteActivity(lifecycle.NotifyWork(sending, m.Receiver, "deliver"), do.Deliver, req)
		asked := false
		workflow.NewSelector(ctx).
			AddFuture(sent, func(workflow.Future) {}).
			AddReceive(again, func(c workflow.ReceiveChannel, _ bool) { asked = true; c.Receive(ctx, nil); stop() }).
			Select(ctx)
		err = sent.Get(ctx, &status)
		stop()
		if !asked && !again.ReceiveAsync(nil) {
			return status, err
		}
	}
}

// Ping sends one test message to a registered webhook.
func Ping(ctx workflow.Context, req activities.PingRequest) (attempt task.Attempt, err error) {
	err = workflow.ExecuteActivity(lifecycle.NotifyWork(ctx, req.Endpoint, "ping"), do.Ping, req).Get(ctx, &attempt)
	return attempt, err
}
