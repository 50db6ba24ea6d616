package workflows

import (
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
)

// The workflows that tell others how tasks go, by their types. They are for ever.
const (
	NotifyType  = "notify"  // one occasion of a task
	DeliverType = "deliver" // one message to one address; its workflow id is the message's
	PingType    = "ping"    // one try, for somebody who waits

	SignalAgain = "again" // to deliver: send it now, whatever became of it
)

// tells names the activities that tell with their types; it is never called.
var tells *activities.Notices

// registerNotify makes the workflows that tell known.
func registerNotify(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Notify, workflow.RegisterOptions{Name: NotifyType})
	r.RegisterWorkflowWithOptions(Deliver, workflow.RegisterOptions{Name: DeliverType})
	r.RegisterWorkflowWithOptions(Ping, workflow.RegisterOptions{Name: PingType})
}

// tellEnd has those who want to hear told that the task ended. What is told is what readers see by then.
func (r *Run) tellEnd(ctx workflow.Context) {
	r.tell(ctx, r.Facts.ID+".ended", activities.NoticeRequest{})
}

// tellInput has them told that a person is needed.
func (r *Run) tellInput(ctx workflow.Context, request string) {
	r.tell(ctx, r.Facts.ID+".input-"+request, activities.NoticeRequest{Input: request, Revision: r.state.Revision})
}

// tell starts a workflow that outlives the task and does not hold it. Its id is that of the occasion, so each is told
// once. It must not be what fails a task.
func (r *Run) tell(ctx workflow.Context, id string, what activities.NoticeRequest) {
	if r.Facts.Notify == "" {
		return
	}
	what.Task, what.Tenant, what.Notice = r.Facts.ID, r.Facts.Tenant, r.Facts.Notify
	if err := abandon(ctx, id, NotifyType, "tell those who want to hear", what); err != nil {
		workflow.GetLogger(ctx).Error("nobody is told", "task", r.Facts.ID, "notify", id, "error", err)
	}
}

// abandon starts a workflow that goes on by itself, once for an id.
func abandon(ctx workflow.Context, id, kind, summary string, in any) error {
	clean, _ := workflow.NewDisconnectedContext(ctx)
	started := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(clean, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: activities.QueueWorkflows, WorkflowTaskTimeout: TaskTimeout, StaticSummary: summary,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}), kind, in).GetChildWorkflowExecution()
	err := started.Get(clean, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return nil
	}
	return err
}

// Notify makes the messages of one occasion, and has each delivered by a workflow of its own.
func Notify(ctx workflow.Context, what activities.NoticeRequest) error {
	var ready []activities.Addressed
	err := workflow.ExecuteActivity(notifying(ctx, what.Tenant, "wait for the state"), tells.PrepareNotices, what).Get(ctx, &ready)
	if err != nil {
		return err
	}
	for _, m := range ready {
		if err := abandon(ctx, m.ID, DeliverType, "deliver a message of "+what.Task, m); err != nil {
			return err
		}
	}
	return nil
}

// Deliver delivers one message: an activity, which Temporal calls again as often as the schedule wants. Whoever asks
// for it again has it sent at once, and the schedule begins anew.
func Deliver(ctx workflow.Context, m activities.Addressed) (status task.DeliveryStatus, err error) {
	again := workflow.GetSignalChannel(ctx, SignalAgain)
	for again.ReceiveAsync(nil) { // who started it by asking is served by its start
	}
	for round := 0; ; round++ {
		req := activities.DeliverRequest{ID: m.ID, Round: fmt.Sprintf("%s/%d", workflow.GetInfo(ctx).OriginalRunID, round)}
		sending, stop := workflow.WithCancel(ctx)
		sent := workflow.ExecuteActivity(notifying(sending, m.Receiver, "deliver"), tells.Deliver, req)
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

// Ping tries once whether a message arrives at a registered webhook.
func Ping(ctx workflow.Context, req activities.PingRequest) (attempt task.Attempt, err error) {
	err = workflow.ExecuteActivity(notifying(ctx, req.Endpoint, "ping"), tells.Ping, req).Get(ctx, &attempt)
	return attempt, err
}
