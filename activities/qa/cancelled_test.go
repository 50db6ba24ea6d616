package qa

import (
	"context"
	"net/http"
	"testing"

	"longhaul/activities/call"
	"longhaul/activities/call/calltest"
	"longhaul/internal/record"
	"longhaul/internal/storage/storagetest"
)

// An answer that arrives while the task is cancelled is paid for, so the activity reports it.
func TestPaidAnswer_reportedAfterCancel(t *testing.T) {
	bucket := storagetest.Remote(t, func(store http.Handler) http.Handler { return store })
	said := `{"answer":"1911","citations":[],"supported":true,"needs_everything":false}`
	calltest.RequireCancelledAnswerIsReported(t, bucket, said, func(ctx context.Context, c *call.Caller) (call.Answer, error) {
		heart := call.StartHeartbeat(ctx, "answering")
		defer heart.Stop()
		answer, _, err := (&Activities{Bucket: bucket, Call: c}).askQA(ctx, heart, record.TaskRef{ID: "task_a", Lineage: "task_a"}, stepAnswer, "answer", "material")
		return answer, err
	})
}
