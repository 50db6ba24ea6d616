package translate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/internal/record/recordtest"
	"longhaul/internal/task"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Activities(t, (&Activities{}).Queues(), task.TranslateInput{}, Translation{}, Output{})
}

// The simulated model returns the text of a prompt of this kind, and knows no other.
func TestSimulate(t *testing.T) {
	t.Parallel()
	text, ok := Simulate(orders(documents.Style{Language: "German"}), call.Quote(partTag, "a note", "# Harbour\n\nRebuilt."))
	require.True(t, ok)
	require.Equal(t, "# Harbour\n\nRebuilt.", text)
	_, ok = Simulate("Summarise the document that the user gives you.", "text")
	require.False(t, ok)
}
