package videotest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/video"
	"longhaul/internal/video/videotest"
	"longhaul/internal/video/wire"
)

func client(t *testing.T, p *videotest.Provider, dialect string) *wire.Client {
	t.Helper()
	c, err := wire.New(wire.Config{BaseURL: p.URL(dialect), Dialect: dialect})
	require.NoError(t, err)
	return c
}

// TestGoodJob goes a step on with each poll, in every dialect.
func TestGoodJob(t *testing.T) {
	t.Parallel()
	for _, dialect := range wire.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := videotest.New(t, videotest.Options{})
			c := client(t, p, dialect)
			job, err := c.Start(t.Context(), video.Request{Model: "m", Prompt: "a sea", Fence: "f"})
			require.NoError(t, err)
			for _, want := range []video.State{video.Queued, video.Running, video.Succeeded, video.Succeeded} {
				job, err = c.Status(t.Context(), job.ID)
				require.NoError(t, err)
				require.Equal(t, want, job.State)
				require.True(t, job.Known, job.Word)
			}
			require.Equal(t, 100, *job.Progress)
			require.Equal(t, videotest.Counts{Starts: 1, Jobs: 1, Polls: 4}, p.Counts())
			require.Equal(t, "succeeded", p.Jobs("a sea")[0].Told)
		})
	}
}

func TestJournal(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("twice", videotest.Script{Start: []videotest.Reply{{Lost: true}, videotest.Fail(400, ""), {}}})
	c := client(t, p, "ark")
	for _, ok := range []bool{false, false, true, true} {
		_, err := c.Start(t.Context(), video.Request{Prompt: "twice", Fence: "f-1"})
		require.Equal(t, ok, err == nil)
	}
	_, err := c.Start(t.Context(), video.Request{Prompt: "once", Fence: "f-2"})
	require.NoError(t, err)
	require.Len(t, p.Starts("f-1"), 4)
	require.Len(t, p.Starts("once"), 1)
	require.Len(t, p.Jobs("f-1"), 3)
	require.Equal(t, map[string]int{"f-1": 3}, p.Repeats())
	require.Equal(t, videotest.Counts{Starts: 5, Jobs: 4}, p.Counts())
}

// TestSlow: a slow answer is a good one for who waits.
func TestSlow(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	slow := videotest.Running("45%")
	slow.Reply.Delay = 10 * time.Millisecond
	p.On("", videotest.Script{Start: []videotest.Reply{{Delay: 10 * time.Millisecond}}, Polls: []videotest.Step{slow}})
	c := client(t, p, "videos")
	began := time.Now()
	job, err := c.Start(t.Context(), video.Request{Prompt: "p"})
	require.NoError(t, err)
	job, err = c.Status(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, 45, *job.Progress)
	require.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
}
