package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
)

func TestSystem_whoLeavesSpoilsItForNobody(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	gone, leave := context.WithCancel(t.Context())
	leave()
	engines[0].Installation(gone)
	require.NotEmpty(t, engines[0].Installation(t.Context()).Queues, "what was found for one who left is told to the next")
}

// A task that is blocked in a part of it too is one.
func TestBlocked_countsTasks(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	id := f.run("acme")
	f.run("other")
	f.mu.Lock()
	group := *f.tasks[id]
	group.facts.ID = record.GroupID(id, 0)
	f.tasks[group.facts.ID] = &group
	f.mu.Unlock()
	n, err := engines[0].Blocked(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
}
