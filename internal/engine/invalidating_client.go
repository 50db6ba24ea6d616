package engine

import (
	"context"

	"go.temporal.io/sdk/client"
)

// invalidatingClient calls invalidate after each cancel and signal, so that readers of this process see its own writes.
// Every client method with which the engine changes a running task must be wrapped here.
type invalidatingClient struct {
	client.Client
	invalidate func(id string)
}

// CancelWorkflow requests the cancellation of a workflow and invalidates its view, also when the request fails.
func (c invalidatingClient) CancelWorkflow(ctx context.Context, id, run string) error {
	defer c.invalidate(id)
	return c.Client.CancelWorkflow(ctx, id, run)
}

// SignalWorkflow sends a signal to a workflow and invalidates its view, also when the request fails.
func (c invalidatingClient) SignalWorkflow(ctx context.Context, id, run, signal string, arg any) error {
	defer c.invalidate(id)
	return c.Client.SignalWorkflow(ctx, id, run, signal, arg)
}
