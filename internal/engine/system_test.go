package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSystem_whoLeavesSpoilsItForNobody(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	gone, leave := context.WithCancel(t.Context())
	leave()
	engines[0].Installation(gone)
	require.NotEmpty(t, engines[0].Installation(t.Context()).Queues, "what was found for one who left is told to the next")
}
