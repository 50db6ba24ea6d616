package call

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// A short text is in the heartbeat, a long one in the bucket; the next call starts with no text.
func TestHeartbeat_liveText(t *testing.T) {
	t.Parallel()
	bucket, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	h := &Heartbeat{live: &liveText{item: new(3), read: PlainText, key: "tasks/t/live/x.txt", bucket: bucket}}
	h.updateLive(t.Context())
	require.Nil(t, h.State().Live)
	h.Grow(llm.Progress{Bytes: 3, Text: "The"})
	h.updateLive(t.Context())
	require.Equal(t, &record.LiveText{Item: new(3), Text: "The", Length: 3}, h.State().Live)
	long := strings.Repeat("word ", maxInlineText)
	h.Grow(llm.Progress{Bytes: len(long), Text: long})
	h.updateLive(t.Context())
	require.Eventually(t, func() bool { return h.State().Live.Key != "" }, 30*time.Second, time.Millisecond)
	require.Equal(t, &record.LiveText{Item: new(3), Key: "tasks/t/live/x.txt", Length: len(long)}, h.State().Live)
	kept, err := bucket.Get(t.Context(), "tasks/t/live/x.txt")
	require.NoError(t, err)
	require.Equal(t, long, string(kept))
	h.Grow(llm.Progress{})
	require.Nil(t, h.State().Live)
	h.updateLive(t.Context())
	require.Nil(t, h.State().Live, "another call has said nothing yet")
}
