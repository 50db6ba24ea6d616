package simulated_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
	"longhaul/internal/video/simulated"
	"longhaul/internal/video/wire"
)

// start runs a provider, and a client of it as the product has one.
func start(t *testing.T, latency time.Duration) (*wire.Client, string) {
	t.Helper()
	base, stop, err := simulated.Start(t.Context(), simulated.Options{Latency: latency})
	require.NoError(t, err)
	t.Cleanup(stop)
	c, err := wire.New(wire.Config{Name: "simulated", BaseURL: base, Dialect: "ark"})
	require.NoError(t, err)
	return c, base
}

// TestThroughTheClient asks the way the product does.
func TestThroughTheClient(t *testing.T) {
	t.Parallel()
	c, _ := start(t, 40*time.Millisecond)
	seed := int64(3)
	req := video.Request{Model: "any", Prompt: "a quiet sea", Seconds: 2, Resolution: "480p", Aspect: "9:16", Seed: &seed, Fence: "f-1"}
	job, err := c.Start(t.Context(), req)
	require.NoError(t, err)

	var w video.Watch
	seen := map[video.State]bool{}
	for next := video.Poll; next == video.Poll; {
		job, err = c.Status(t.Context(), job.ID)
		require.NoError(t, err)
		require.True(t, job.Known)
		require.True(t, job.Simulated)
		require.Equal(t, simulated.Model, job.Model)
		seen[job.State] = true
		next, _ = w.See(job, time.Now())
	}
	require.Equal(t, video.Succeeded, job.State)
	require.Equal(t, 100, w.Percent)
	require.InDelta(t, 2, job.Seconds, 0)
	require.Equal(t, seed, *job.Seed)
	require.True(t, job.Usage.Known)

	var film bytes.Buffer
	content, err := c.Content(t.Context(), job, &film)
	require.NoError(t, err)
	require.Equal(t, "video/mp4", content.ContentType)
	require.Equal(t, simulated.Film("a quiet sea", 3, 2, "9:16"), film.Bytes())

	again, found, err := c.Find(t.Context(), req)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, job.ID, again.ID)
	req.Fence = "f-2"
	_, found, err = c.Find(t.Context(), req)
	require.NoError(t, err)
	require.False(t, found)

	stop, err := c.Cancel(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, video.TooLate, stop)
}

func TestStates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		latency time.Duration
		state   video.State
		stop    video.Stop
		after   video.State
	}{
		"waits":   {time.Hour, video.Queued, video.Stopped, video.Cancelled},
		"is over": {-1, video.Succeeded, video.TooLate, video.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := start(t, test.latency)
			job, err := c.Start(t.Context(), video.Request{Prompt: "p"})
			require.NoError(t, err)
			job, err = c.Status(t.Context(), job.ID)
			require.NoError(t, err)
			require.Equal(t, test.state, job.State)
			stop, err := c.Cancel(t.Context(), job.ID)
			require.NoError(t, err)
			require.Equal(t, test.stop, stop)
			job, err = c.Status(t.Context(), job.ID)
			require.NoError(t, err)
			require.Equal(t, test.after, job.State)
		})
	}
}

// TestRunning: a job that is drawn has a progress, and cannot be stopped.
func TestRunning(t *testing.T) {
	t.Parallel()
	var now atomic.Int64 // seconds
	base, stop, err := simulated.Start(t.Context(), simulated.Options{Clock: func() time.Time { return time.Unix(now.Load(), 0) }})
	require.NoError(t, err)
	t.Cleanup(stop)
	c, err := wire.New(wire.Config{BaseURL: base, Dialect: "ark"})
	require.NoError(t, err)
	job, err := c.Start(t.Context(), video.Request{Prompt: "p"})
	require.NoError(t, err)
	for second, want := range map[int64]int{1: 0, 2: 33, 3: 66} {
		now.Store(second)
		job, err = c.Status(t.Context(), job.ID)
		require.NoError(t, err)
		require.Equal(t, video.Running, job.State)
		require.Equal(t, want, *job.Progress)
		ended, err := c.Cancel(t.Context(), job.ID)
		require.NoError(t, err)
		require.Equal(t, video.Unstoppable, ended)
	}
	now.Store(4)
	job, err = c.Status(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, video.Succeeded, job.State)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c, base := start(t, -1)
	_, err := c.Status(t.Context(), "cgt-of-another-life")
	require.ErrorIs(t, err, video.ErrNoJob)
	for name, req := range map[string]video.Request{
		"nothing to draw": {},
		"too long":        {Prompt: "p", Seconds: 61},
		"backwards":       {Prompt: "p", Seconds: -1},
	} {
		_, err := c.Start(t.Context(), req)
		var e *llm.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, llm.Final, e.Class, name)
		require.Equal(t, task.ModelRefused, e.Code, name)
		require.False(t, video.Ambiguous(err), name)
	}
	for method, body := range map[string]string{http.MethodPost: "not JSON", http.MethodDelete: ""} {
		req, err := http.NewRequestWithContext(t.Context(), method, base+"/contents/generations/tasks"+strings.Repeat("/none", len(method)/6), strings.NewReader(body))
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		said, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, "true", res.Header.Get("X-Longhaul-Simulated"))
		require.Contains(t, string(said), `"error"`)
	}
}

// TestRange: a player that jumps asks for parts.
func TestRange(t *testing.T) {
	t.Parallel()
	c, _ := start(t, -1)
	job, err := c.Start(t.Context(), video.Request{Prompt: "p", Seconds: 1})
	require.NoError(t, err)
	job, err = c.Status(t.Context(), job.ID)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, job.URL, nil)
	require.NoError(t, err)
	req.Header.Set("Range", "bytes=4-7")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	part, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusPartialContent, res.StatusCode)
	require.Equal(t, "ftyp", string(part))
}
