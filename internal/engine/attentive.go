package engine

import (
	"context"

	"go.temporal.io/sdk/client"
)

// attentive is a client that tells of every change this process asks for, so that no reader here is shown what was before it. Whatever the engine
// calls to change a task that runs has a method here.
type attentive struct {
	client.Client
	wrote func(id string)
}

// CancelWorkflow asks a workflow to stop.
func (a attentive) CancelWorkflow(ctx context.Context, id, run string) error {
	defer a.wrote(id)
	return a.Client.CancelWorkflow(ctx, id, run)
}

// SignalWorkflow tells a workflow something.
func (a attentive) SignalWorkflow(ctx context.Context, id, run, signal string, arg any) error {
	defer a.wrote(id)
	return a.Client.SignalWorkflow(ctx, id, run, signal, arg)
}
