package workflows

import (
	"maps"

	"go.temporal.io/sdk/workflow"

	"longhaul/internal/task"
)

// require shows that a person is needed, at once.
func (r *Run) require(ctx workflow.Context, req task.InputRequest) error {
	requests := maps.Clone(r.state.Requests)
	if requests == nil {
		requests = map[string]task.InputRequest{}
	}
	requests[req.ID] = req
	r.state.Requests = requests
	if r.state.State == task.Processing {
		r.state.State = task.InputRequired
	}
	if err := r.publish(ctx); err != nil {
		return err
	}
	r.tellInput(ctx, req.ID)
	return nil
}

// settled takes a request back: it was answered, or its time is over.
func (r *Run) settled(ctx workflow.Context, id string) {
	requests := maps.Clone(r.state.Requests)
	delete(requests, id)
	r.state.Requests = requests
	if len(requests) == 0 && r.state.State == task.InputRequired {
		r.state.State = task.Processing
	}
	r.publishSoon(ctx)
}
