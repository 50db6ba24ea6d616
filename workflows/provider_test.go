package workflows_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/router"
	"longhaul/internal/task"
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
			model, err := openai.New(openai.Config{BaseURL: b.provider.URL(), Key: "k", Profile: profile})
			require.NoError(t, err)
			b.do.Router, err = router.New("test-model", &router.Provider{Name: profile, Model: model, Lane: openGate{}})
			require.NoError(t, err)
			b.do.MaxAttempts = 1
			b.provider.On(marker(0), quota, quota, quota, quota, llmtest.Reply{})
			start := b.env.Now()
			b.run(b.start(task.SummaryInput{Documents: texts(1)}))

			item := b.items()[0]
			require.Equal(t, test.status, item.Status)
			require.Equal(t, test.calls, b.provider.Counts().Total)
			require.Equal(t, test.calls, item.Attempts)
			require.GreaterOrEqual(t, b.env.Now().Sub(start), test.wait)
		})
	}
}
