package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/video"
	"longhaul/internal/video/wire"
)

// FuzzStatus: whatever a provider sends, a job comes out that a workflow can carry, or none.
func FuzzStatus(f *testing.F) {
	for _, p := range polls() {
		f.Add([]byte(p.reply.Body))
	}
	f.Add([]byte(`{"status":"succeeded","created_at":1e300,"usage":{"total_tokens":1e300},"progress":1e300,"seed":1e300,"duration":1e300,"url":"https://\ud800"}`))
	f.Add([]byte(`{"status":{"status":1},"data":[{"url":[]}],"output":[[]],"error":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		job, ok := wire.Read(body)
		if !ok {
			return
		}
		require.Contains(t, []video.State{video.Queued, video.Running, video.Succeeded, video.Failed, video.Cancelled}, job.State)
		require.Equal(t, job.State == video.Failed, job.Error != nil)
		require.True(t, job.URL == "" || job.State == video.Succeeded)
		require.True(t, job.Progress == nil || *job.Progress >= 0 && *job.Progress <= 100)
		data, err := json.Marshal(job)
		require.NoError(t, err)
		var back video.Job
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, job, back)
	})
}
