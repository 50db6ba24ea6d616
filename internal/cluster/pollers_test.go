package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestSeenLately(t *testing.T) {
	t.Parallel()
	now := time.Now()
	poller := func(identity string, age time.Duration) *taskqueue.PollerInfo {
		return &taskqueue.PollerInfo{Identity: identity, LastAccessTime: timestamppb.New(now.Add(-age))}
	}
	got := SeenLately(&workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{
		poller("now", 0), poller("in a long poll", time.Minute), poller("killed", 2*time.Minute),
	}})
	require.Len(t, got, 2)
	require.WithinDuration(t, now, got["now"], 0)
	require.Contains(t, got, "in a long poll")
	require.Empty(t, SeenLately(nil))
}
