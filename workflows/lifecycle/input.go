package lifecycle

import (
	"maps"

	"go.temporal.io/sdk/workflow"

	"longhaul/internal/task"
)

// Require publishes at once that a person is needed.
func (r *Run) Require(ctx workflow.Context, req task.InputRequest) error {
	requests := maps.Clone(r.State.Requests)
	if requests == nil {
		requests = map[string]task.InputRequest{}
	}
	requests[req.ID] = req
	r.State.Requests = requests
	if r.State.State == task.Processing {
		r.State.State = task.InputRequired
	}
	if err := r.publish(ctx); err != nil {
		return err
	}
	r.notifyInput(ctx, req.ID)
	return nil
}

// Settled removes a request: it was answered, or it expired.
func (r *Run) Settled(ctx workflow.Context, id string) {
	requests := maps.Clone(r.State.Requests)
	delete(requests, id)
	r.State.Requests = requests
	if len(requests) == 0 && r.State.State == task.InputRequired {
		r.State.State = task.Processing
	}
	r.PublishSoon(ctx)
}
