package engine

import (
	"context"

	"go.temporal.io/sdk/client"
)

// attentive is a client that tells of every change this process asks for, so that no reader here is shown what was before it.
type attentive struct {
	client.Client
	wrote func(id string)
}

// CancelWorkflow asks a workflow to stop.
func (a attentive) CancelWorkflow(ctx context.Context, id, run string) error {
	defer a.wrote(id)
	return a.Client.CancelWorkflow(ctx, id, run)
}

// TerminateWorkflow ends a workflow.
func (a attentive) TerminateWorkflow(ctx context.Context, id, run, reason string, details ...any) error {
	defer a.wrote(id)
	return a.Client.TerminateWorkflow(ctx, id, run, reason, details...)
}

// SignalWorkflow tells a workflow something.
func (a attentive) SignalWorkflow(ctx context.Context, id, run, signal string, arg any) error {
	defer a.wrote(id)
	return a.Client.SignalWorkflow(ctx, id, run, signal, arg)
}

// UpdateWorkflow asks a workflow for a change.
func (a attentive) UpdateWorkflow(ctx context.Context, options client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	defer a.wrote(options.WorkflowID)
	return a.Client.UpdateWorkflow(ctx, options)
}
