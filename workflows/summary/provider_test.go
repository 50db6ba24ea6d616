package summary_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/router"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

// What one provider means by a word another does not: to OpenAI the account is empty, to DashScope the minute
// is. The one ends at once, the other waits for the next minute and uses up no attempt.
func TestSummary_insufficientQuota(t *testing.T) {
	t.Parallel()
	quota := llmtest.Fail(http.StatusTooManyRequests,
		`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`)
	tests := map[string]struct {
		calls  int
		status task.ItemStatus
		wait   time.Duration
	}{
		"openai":    {1, task.ItemFailed, 0},
		"dashscope": {5, task.ItemSucceeded, 4 * time.Minute},
	}
	for profile, test := range tests {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			model, err := openai.New(openai.Config{BaseURL: b.Provider.URL(), Key: "k", Profile: profile})
			require.NoError(t, err)
			b.Parts.Call.Router, err = router.New("test-model", &router.Provider{Name: profile, Model: model, Lane: workflowtest.OpenGate{}})
			require.NoError(t, err)
			b.Parts.Call.MaxAttempts = 1
			b.Provider.On(workflowtest.Marker(0), quota, quota, quota, quota, llmtest.Reply{})
			start := b.Env.Now()
			b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(1)}))

			item := b.Items()[0]
			require.Equal(t, test.status, item.Status)
			require.Equal(t, test.calls, b.Provider.Counts().Total)
			require.Equal(t, test.calls, item.Attempts)
			require.GreaterOrEqual(t, b.Env.Now().Sub(start), test.wait)
		})
	}
}
