// Package calltest tests what activities do with paid calls.
package calltest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"longhaul/activities/call"
	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/router"
	"longhaul/internal/storage"
)

// RequireCancelledAnswerIsReported runs an activity whose task is cancelled while its model answers, and requires that
// the activity reports the answer all the same: it is paid for.
func RequireCancelledAnswerIsReported(t *testing.T, bucket *storage.Bucket, answer string, do func(context.Context, *call.Caller) (call.Answer, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	table, err := router.New("m", &router.Provider{Name: "p", Model: cancelling{answer: answer, cancel: cancel}, Lane: lane.New(lane.Limits{})})
	require.NoError(t, err)
	caller := &call.Caller{Bucket: bucket, Ledger: storage.NewLedger(bucket), Router: table, MaxAttempts: 3, Log: slog.New(slog.DiscardHandler)}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	run := func(ctx context.Context) (call.Answer, error) { return do(ctx, caller) }
	env.RegisterActivity(run)
	value, err := env.ExecuteActivity(run)
	require.NoError(t, err)
	var reported call.Answer
	require.NoError(t, value.Get(&reported))
	require.EqualValues(t, 55, reported.Usage.InputTokens+reported.Usage.OutputTokens)
}

// cancelling is a model that cancels its task while it answers.
type cancelling struct {
	llm.Embedder // none
	answer       string
	cancel       context.CancelFunc
}

// Complete cancels the task and answers.
func (c cancelling) Complete(context.Context, llm.Request, func(llm.Progress)) (llm.Response, error) {
	c.cancel()
	return llm.Response{Text: c.answer, FinishReason: "stop", Usage: llm.Usage{Known: true, InputTokens: 50, OutputTokens: 5}}, nil
}
