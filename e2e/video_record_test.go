package e2e

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
)

// TestRecordVideo is TestRecord for the kind video. The shape "waits" takes six minutes, until the waits for a job are
// timers.
func TestRecordVideo(t *testing.T) {
	if *recordKind != "all" && *recordKind != "video" {
		t.Skip("run by make record")
	}
	shapes := map[string]func(*stack, *videotest.Provider) string{
		"batch": recordVideos, "cancelled": recordVideosCancelled, "continued": recordVideosContinued, "waits": recordVideosWaits,
	}
	for name, run := range shapes {
		t.Run(name, func(t *testing.T) {
			opts := localtemporal.Options{}
			if name == "continued" {
				opts.HistoryEvents = 80
			}
			s, videos := newVideoStack(t, opts)
			s.saveHistories("video", name, run(s, videos))
		})
	}
}

func recordVideos(s *stack, videos *videotest.Provider) string {
	videos.On("[wave-000]", videotest.Script{Start: []videotest.Reply{{Lost: true}}})
	videos.On("[wave-001]", videotest.Script{Start: []videotest.Reply{videotest.Refuse(http.StatusBadRequest, "InputTextSensitiveContentDetected", "no")}})
	videos.On("[wave-002]", videotest.Script{Polls: []videotest.Step{videotest.Answer(http.StatusBadGateway, "oops"), videotest.Failed("InternalServiceError", "a lamp broke")}})
	return s.finish(s.submitVideo(task.VideoInput{Prompts: prompts(4), Seconds: 5})).ID
}

func recordVideosCancelled(s *stack, videos *videotest.Provider) string {
	videos.On("[wave-000]", videotest.Script{Polls: []videotest.Step{videotest.Queued()}})
	videos.On("[wave-001]", videotest.Script{Polls: []videotest.Step{videotest.Running(30)}})
	id := s.submitVideo(task.VideoInput{Prompts: prompts(3), Seconds: 5})
	require.Eventually(s.t, func() bool { return s.countItems(id, "succeeded") == 1 }, time.Minute, 50*time.Millisecond)
	s.post("/v1/tasks/"+id+"/cancel", "")
	return s.finish(id).ID
}

func recordVideosContinued(s *stack, _ *videotest.Provider) string {
	return s.finish(s.submitVideo(task.VideoInput{Prompts: prompts(14)})).ID
}

func recordVideosWaits(s *stack, videos *videotest.Provider) string {
	videos.On("[wave-000]", videotest.Script{Polls: append(slices.Repeat([]videotest.Step{videotest.Running(nil)}, 66), videotest.Succeeded())})
	ctx := s.t.Context()
	id := s.submitVideo(task.VideoInput{Prompts: prompts(1)})
	require.NoError(s.t, videos.Wait(ctx, func(c videotest.Counts) bool { return c.Downloads == 1 }))
	return s.finish(id).ID
}
