package activities

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// overtaken is a model during whose answer the task is cancelled.
type overtaken struct {
	llm.Embedder // none
	text         string
	cancel       context.CancelFunc
}

func (o overtaken) Complete(context.Context, llm.Request, func(llm.Progress)) (llm.Response, error) {
	o.cancel()
	return llm.Response{Text: o.text, FinishReason: "stop", Usage: llm.Usage{Known: true, InputTokens: 50, OutputTokens: 5}}, nil
}

// remoteBucket is a bucket that is asked over HTTP, through what a test puts in front of it.
func remoteBucket(t *testing.T, front func(store http.Handler) http.Handler) *storage.Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("longhaul"))
	store := httptest.NewServer(front(gofakes3.New(backend).Server()))
	t.Cleanup(store.Close)
	bucket, err := storage.Open(t.Context(), "s3://longhaul?endpoint="+store.URL+"&use_path_style=true&region=us-east-1"+
		"&request_checksum_calculation=when_required&response_checksum_validation=when_required")
	require.NoError(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}

// An answer that comes in the moment of a cancel is paid for, so the task tells of it, over a store that hears of the cancel too.
func TestPaid_cancelledInTheMoment(t *testing.T) {
	bucket := remoteBucket(t, func(store http.Handler) http.Handler { return store })
	of := Task{ID: "task_a", Lineage: "task_a"}
	require.NoError(t, bucket.PutJSON(t.Context(), "in.json", task.AgentInput{Goal: "find out"}))
	require.NoError(t, bucket.PutJSON(t.Context(), storage.AgentToolsKey(of.ID), []tool.Definition{}))
	require.NoError(t, bucket.PutJSON(t.Context(), sourceKey(of, 0), source{Name: "a"}))
	for name, test := range map[string]struct {
		text string
		do   func(a *Activities, ctx context.Context, heart *heart) (Answer, error)
	}{
		"turn of an agent": {"done", func(a *Activities, ctx context.Context, _ *heart) (Answer, error) {
			turn, err := a.AgentTurn(ctx, TurnRequest{Task: of, InputKey: "in.json", Turn: 1})
			return turn.Answer, err
		}},
		"memory of an agent": {"in short", func(a *Activities, ctx context.Context, _ *heart) (Answer, error) {
			return a.CompactConversation(ctx, CompactRequest{Task: of, InputKey: "in.json"})
		}},
		"answer to a question": {`{"answer":"1911","citations":[],"supported":true,"needs_everything":false}`, func(a *Activities, ctx context.Context, heart *heart) (Answer, error) {
			answer, _, err := a.askQA(ctx, heart, of, stepAnswer, "answer", "material")
			return answer, err
		}},
		"summary": {"in short", func(a *Activities, ctx context.Context, heart *heart) (Answer, error) {
			answer, err := a.ask(ctx, heart, of, stepPart, question("a"))
			if err != nil {
				return answer, err
			}
			return answer, a.complete(ctx, of, 0, &ItemSoFar{}, answer)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			table, err := router.New("m", &router.Provider{Name: "p", Model: overtaken{text: test.text, cancel: cancel}, Lane: lane.New(lane.Limits{})})
			require.NoError(t, err)
			a := &Activities{Bucket: bucket, Ledger: storage.NewLedger(bucket), Router: table, MaxAttempts: 3, Log: slog.New(slog.DiscardHandler)}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			run := func(ctx context.Context) (Answer, error) {
				heart := startHeart(ctx, "asking")
				defer heart.Stop()
				return test.do(a, ctx, heart)
			}
			env.RegisterActivity(run)
			value, err := env.ExecuteActivity(run)
			require.NoError(t, err)
			var answer Answer
			require.NoError(t, value.Get(&answer))
			require.EqualValues(t, 55, answer.Usage.InputTokens+answer.Usage.OutputTokens)
		})
	}
}
