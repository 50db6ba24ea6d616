package activities

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/storage"
)

// However far a reply has come, what is shown is a beginning of its answer, and in the end all of it.
func TestAnswerSoFar(t *testing.T) {
	t.Parallel()
	const answer = "The \"lamp\" was lit in 1911, 灯塔 and \U0001F6A2.\nTwice."
	reply := `{"citations": [{"source": 1, "quote": "answer: {\"answer\":\"no\"}"}], "answer": "The \"lamp\" was lit in 1911, \u706f塔 and \ud83d\udea2.\nTwice.", "supported": true}`
	longest := 0
	for end := range len(reply) + 1 {
		got := answerSoFar(reply[:end])
		require.True(t, strings.HasPrefix(answer, strings.TrimRight(got, "\ufffd")), "%q", got)
		longest = max(longest, len(got))
	}
	require.Equal(t, answer, answerSoFar(reply))
	require.Equal(t, len(answer), longest)
	require.Empty(t, answerSoFar("```json"))
	require.Empty(t, answerSoFar(`{"answer": null`))
}

// A short text travels in the heartbeat, a long one lies in the bucket; the next call begins anew.
func TestHeart_text(t *testing.T) {
	t.Parallel()
	bucket, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	h := &heart{show: &show{item: new(3), read: plain, key: "tasks/t/live/x.txt", bucket: bucket}}
	h.tellText(t.Context())
	require.Nil(t, h.now().Live)
	h.grew(llm.Progress{Bytes: 3, Text: "The"})
	h.tellText(t.Context())
	require.Equal(t, &Live{Item: new(3), Text: "The", Length: 3}, h.now().Live)
	long := strings.Repeat("word ", mostInBeat)
	h.grew(llm.Progress{Bytes: len(long), Text: long})
	h.tellText(t.Context())
	require.Eventually(t, func() bool { return h.now().Live.Key != "" }, 30*time.Second, time.Millisecond)
	require.Equal(t, &Live{Item: new(3), Key: "tasks/t/live/x.txt", Length: len(long)}, h.now().Live)
	kept, err := bucket.Get(t.Context(), "tasks/t/live/x.txt")
	require.NoError(t, err)
	require.Equal(t, long, string(kept))
	h.grew(llm.Progress{})
	require.Nil(t, h.now().Live)
	h.tellText(t.Context())
	require.Nil(t, h.now().Live, "another call has said nothing yet")
}
