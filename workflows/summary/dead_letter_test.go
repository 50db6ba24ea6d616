package summary_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

// A dead letter that cannot be written does not keep the task from ending.
func TestDeadLetter_writeFails(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"written": false, "not written": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Provider.On(workflowtest.Marker(0), llmtest.Fail(http.StatusUnauthorized, "no"))
			if broken {
				b.Mock("WriteDeadLetter").Return(temporal.NewNonRetryableApplicationError("broken", "broken", errors.New("broken")))
			}
			facts := b.Summary(task.SummaryInput{Documents: workflowtest.Texts(1)})
			facts.Headline = "The bridges"
			s := b.Run(facts)
			require.Equal(t, task.Failed, s.State)
			require.Equal(t, task.ModelAuth, s.Error.Code)
			require.Equal(t, !broken, s.DeadLetter)
			if !broken {
				letter, err := storage.NewDeadLetters(b.Bucket).Find(t.Context(), facts.Tenant, facts.ID)
				require.NoError(t, err)
				require.Equal(t, "The bridges", letter.Headline, "as it stands in the list of tasks")
			}
		})
	}
}
