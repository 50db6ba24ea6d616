package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// A task that is deleted in Temporal during a list request is left out, and the others are listed.
func TestList_deletedMeanwhile(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	kept := f.run("acme")
	f.deleted = f.run("acme")
	page, err := engines[0].List(t.Context(), "acme", task.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
	require.Equal(t, kept, page.Data[0].ID)
}
