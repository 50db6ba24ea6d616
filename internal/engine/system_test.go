package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
)

// A read that was started for a caller who cancels is completed and cached for the next caller.
func TestSystem_cancelledCaller(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	engines[0].Installation(cancelled)
	require.NotEmpty(t, engines[0].Installation(t.Context()).Queues, "the cached answer is complete")
}

// A task that is blocked in a child workflow as well counts once.
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
