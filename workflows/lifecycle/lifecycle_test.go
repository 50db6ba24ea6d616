package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// What a task cost is told with its error, and the errors that earlier builds left in histories are read as ever.
func TestVerdict(t *testing.T) {
	t.Parallel()
	why := task.Errorf(task.BudgetExceeded, "the budget of 5 is used up")
	run := &Run{State: record.Snapshot{Usage: task.Usage{Requests: 7, Cost: &task.Cost{Amount: 6, Currency: "USD"}}}}
	_, failed := run.verdict(results.Finished{Outcome: task.Partial}, why, false)
	_, cancelled := run.verdict(results.Finished{}, why, true)
	tests := map[string]struct {
		err  error
		code task.Code
		cost float64
	}{
		"failed":               {failed, task.BudgetExceeded, 6},
		"cancelled":            {cancelled, task.TaskCancelled, 6},
		"failed, earlier":      {temporal.NewNonRetryableApplicationError("no", "no", nil, why), task.BudgetExceeded, 0},
		"cancelled, earlier":   {temporal.NewCanceledError("1 of 2 done"), task.TaskCancelled, 0},
		"cancelled by the SDK": {temporal.NewCanceledError(), task.TaskCancelled, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			converter := temporal.GetDefaultFailureConverter() // as it comes out of a history
			err := converter.FailureToError(converter.ErrorToFailure(test.err))
			require.Equal(t, test.code, Reason(err).Code)
			require.InDelta(t, test.cost, Money(EndingOf(err).Usage), 0)
		})
	}
}
