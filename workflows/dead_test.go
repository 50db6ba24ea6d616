package workflows_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// A dead letter that cannot be kept does not take the task's last words with it.
func TestBury_fails(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"kept": false, "not kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.provider.On(marker(0), llmtest.Fail(http.StatusUnauthorized, "no"))
			if broken {
				b.env.OnActivity("Bury", mock.Anything, mock.Anything).Return(temporal.NewNonRetryableApplicationError("broken", "broken", errors.New("broken")))
			}
			facts := b.start(task.SummaryInput{Documents: texts(1)})
			facts.Headline = "The bridges"
			s := b.run(facts)
			require.Equal(t, task.Failed, s.State)
			require.Equal(t, task.ModelAuth, s.Error.Code)
			require.Equal(t, !broken, s.Dead)
			if !broken {
				letter, err := storage.NewDeadLetters(b.bucket).Find(t.Context(), facts.Tenant, facts.ID)
				require.NoError(t, err)
				require.Equal(t, "The bridges", letter.Headline, "as it stands in the list of tasks")
			}
		})
	}
}
