package qa

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
