package lane

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestState(t *testing.T) {
	t.Parallel()
	l := New(Limits{Concurrency: 1, Requests: 60})
	require.Equal(t, State{Limits: Limits{Concurrency: 1, Requests: 60}}, l.State())
	pass, err := l.Enter(t.Context(), Caller{Tenant: "a"}, 1, time.Second)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := l.Enter(ctx, Caller{Tenant: "b"}, 1, time.Minute)
		left <- err
	}()
	require.Eventually(t, func() bool { return l.State().Waiting == 1 }, 30*time.Second, time.Millisecond)
	require.Equal(t, 1, l.State().InFlight)
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	refused := errors.New("no money")
	pass.Done(Outcome{Stop: refused})
	s := l.State()
	require.Equal(t, refused, s.Why)
	require.True(t, s.Until.After(time.Now()))
	require.Zero(t, s.InFlight+s.Waiting)
}
