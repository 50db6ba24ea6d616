package summary

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/activities/call"
	"longhaul/activities/call/calltest"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage/storagetest"
)

// An answer that arrives while the task is cancelled is paid for, so the activity reports it and completes the item.
func TestPaidAnswer_reportedAfterCancel(t *testing.T) {
	bucket := storagetest.Remote(t, func(store http.Handler) http.Handler { return store })
	ref := record.TaskRef{ID: "task_a", Lineage: "task_a"}
	require.NoError(t, bucket.PutJSON(t.Context(), documents.SourceKey(ref, 0), documents.Source{Name: "a"}))
	calltest.RequireCancelledAnswerIsReported(t, bucket, "in short", func(ctx context.Context, c *call.Caller) (call.Answer, error) {
		heart := call.StartHeartbeat(ctx, "summarising")
		defer heart.Stop()
		a := &Activities{Bucket: bucket, Call: c, Results: &results.Store{Bucket: bucket}}
		answer, err := c.Ask(ctx, heart, ref, stepPart, llm.Request{Messages: []llm.Message{{Role: "user", Content: "a"}}})
		if err != nil {
			return answer, err
		}
		return answer, a.complete(ctx, ref, 0, &results.ItemSoFar{}, answer)
	})
}
