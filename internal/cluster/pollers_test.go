package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Two workers poll once a minute while Temporal's clock is set forward or back: both stay alive, and a killed worker
// disappears after the usual time.
func TestPollers(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"true": 0, "an hour forward": time.Hour, "an hour back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { watchPollers(t, off) })
		})
	}
}

func watchPollers(t *testing.T, off time.Duration) {
	var p Pollers
	asked := map[string]time.Time{"a": time.Now(), "b": time.Now().Add(-10 * time.Second)}
	look := func() map[string]bool {
		time.Sleep(time.Second)
		return p.Live([]*taskqueuepb.PollerInfo{
			{Identity: "a", LastAccessTime: timestamppb.New(asked["a"])}, {Identity: "b", LastAccessTime: timestamppb.New(asked["b"])},
		})
	}
	both := map[string]bool{"a": true, "b": true}
	require.Equal(t, both, look())
	for range 30 {
		require.Equal(t, both, look())
	}
	asked["a"] = time.Now().Add(off) // the clock was set, and b has not polled since
	for range 25 {
		require.Equal(t, both, look())
	}
	asked["b"] = time.Now().Add(off)
	require.Equal(t, both, look())
	for range 60 { // worker a is killed
		asked["b"] = time.Now().Add(off)
		look()
	}
	require.Equal(t, map[string]bool{"b": true}, look())
}

// A restarted Temporal knows no pollers and learns them one by one.
func TestPollers_forgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pollers
		asked := func(id string) *taskqueuepb.PollerInfo {
			return &taskqueuepb.PollerInfo{Identity: id, LastAccessTime: timestamppb.New(time.Now())}
		}
		a, b := asked("a"), asked("b")
		require.Len(t, p.Lately([]*taskqueuepb.PollerInfo{a, b}), 2)
		time.Sleep(30 * time.Second)
		require.Len(t, p.Lately([]*taskqueuepb.PollerInfo{asked("a")}), 2)
		require.Len(t, p.Live([]*taskqueuepb.PollerInfo{asked("a")}), 1)
		time.Sleep(41 * time.Second)
		require.Len(t, p.Lately([]*taskqueuepb.PollerInfo{asked("a")}), 1, "the killed poller disappears")
	})
}

// With a constant difference of the clocks, a poller that polls again is alive.
func TestPollers_clocksThatDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pollers
		live := func() bool {
			return p.Live([]*taskqueuepb.PollerInfo{{Identity: "a", LastAccessTime: timestamppb.New(time.Now().Add(-time.Hour))}})["a"]
		}
		require.False(t, live(), "the poller may be dead")
		time.Sleep(time.Second)
		require.True(t, live())
	})
}

func TestSeenLately(t *testing.T) {
	t.Parallel()
	now := time.Now()
	poller := func(identity string, age time.Duration) *taskqueuepb.PollerInfo {
		return &taskqueuepb.PollerInfo{Identity: identity, LastAccessTime: timestamppb.New(now.Add(-age))}
	}
	got := SeenLately([]*taskqueuepb.PollerInfo{
		poller("now", 0), poller("in a long poll", time.Minute), poller("killed", 2*time.Minute),
	})
	require.Len(t, got, 2)
	require.WithinDuration(t, now, got["now"], 0)
	require.Contains(t, got, "in a long poll")
	require.Empty(t, SeenLately(nil))
}
