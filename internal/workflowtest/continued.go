package workflowtest

import (
	"errors"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Continued returns the input of the run that the workflow continues in; ok is false if it ended.
func Continued[Start any](b *Bench) (start Start, ok bool) {
	next, ok := errors.AsType[*workflow.ContinueAsNewError](b.Env.GetWorkflowError())
	if !ok {
		return start, false
	}
	require.NoError(b.T, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
	return start, true
}
