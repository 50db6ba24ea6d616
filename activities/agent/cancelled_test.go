package agent

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/activities/call"
	"longhaul/activities/call/calltest"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/storage/storagetest"
	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// An answer that arrives while the task is cancelled is paid for, so the activity reports it, over a store that obeys
// the cancel as well.
func TestPaidAnswer_reportedAfterCancel(t *testing.T) {
	bucket := storagetest.Remote(t, func(store http.Handler) http.Handler { return store })
	ref := record.TaskRef{ID: "task_a", Lineage: "task_a"}
	require.NoError(t, bucket.PutJSON(t.Context(), "in.json", task.AgentInput{Goal: "find out"}))
	require.NoError(t, bucket.PutJSON(t.Context(), storage.AgentToolsKey(ref.ID), []tool.Definition{}))
	t.Run("turn", func(t *testing.T) {
		calltest.RequireCancelledAnswerIsReported(t, bucket, "done", func(ctx context.Context, c *call.Caller) (call.Answer, error) {
			turn, err := (&Activities{Bucket: bucket, Call: c}).AgentTurn(ctx, TurnRequest{Task: ref, InputKey: "in.json", Turn: 1})
			return turn.Answer, err
		})
	})
	t.Run("memory", func(t *testing.T) {
		calltest.RequireCancelledAnswerIsReported(t, bucket, "in short", func(ctx context.Context, c *call.Caller) (call.Answer, error) {
			return (&Activities{Bucket: bucket, Call: c}).CompactConversation(ctx, CompactRequest{Task: ref, InputKey: "in.json"})
		})
	})
}
