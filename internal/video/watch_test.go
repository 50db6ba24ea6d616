package video_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

func running(percent int) video.Job {
	return video.Job{State: video.Running, Known: true, Word: "running", Progress: &percent}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	odd := video.Job{State: video.Running, Word: "marinating"}
	bare := video.Job{State: video.Succeeded, Known: true, Word: "completed"}
	there := video.Job{State: video.Succeeded, Known: true, Word: "completed", URL: "https://cdn.example.com/v.mp4"}
	tests := map[string]struct {
		polls   []video.Job // five seconds apart
		next    []video.Next
		strange []bool
		percent int
	}{
		"a good job":                      {[]video.Job{running(10), there}, []video.Next{video.Poll, video.Fetch}, []bool{false, false}, 100},
		"progress never goes back":        {[]video.Job{running(40), running(12)}, []video.Next{video.Poll, video.Poll}, []bool{false, false}, 40},
		"a strange word is told once":     {[]video.Job{odd, odd}, []video.Next{video.Poll, video.Poll}, []bool{true, false}, 0},
		"success without an address":      {[]video.Job{bare, bare, bare}, []video.Next{video.Poll, video.Poll, video.Fetch}, make([]bool, 3), 100},
		"success with an address at last": {[]video.Job{bare, there}, []video.Next{video.Poll, video.Fetch}, make([]bool, 2), 100},
		"failed":                          {[]video.Job{{State: video.Failed, Known: true}}, []video.Next{video.End}, []bool{false}, 0},
		"cancelled":                       {[]video.Job{{State: video.Cancelled, Known: true}}, []video.Next{video.End}, []bool{false}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w video.Watch
			at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
			for i, job := range test.polls {
				next, strange := w.See(job, at.Add(time.Duration(i)*5*time.Second))
				require.Equal(t, test.next[i], next, i)
				require.Equal(t, test.strange[i], strange, i)
				w = again(t, w)
			}
			require.Equal(t, test.percent, w.Percent)
		})
	}
}

// again is what comes out of a heartbeat or a history.
func again[T any](t *testing.T, value T) T {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	var back T
	require.NoError(t, json.Unmarshal(data, &back))
	return back
}

func TestWatch_manyStrangeWords(t *testing.T) {
	t.Parallel()
	var w video.Watch
	told := 0
	for i := range 100 {
		if _, strange := w.See(video.Job{State: video.Running, Word: fmt.Sprint("w", i)}, time.Time{}); strange {
			told++
		}
	}
	require.Equal(t, 8, told)
	require.Len(t, w.Words, 8)
}

func TestWatch_misses(t *testing.T) {
	t.Parallel()
	missing, broken := error(&llm.Error{Class: llm.Retry, Err: video.ErrNoJob}), errors.New("broken")
	tests := map[string]struct {
		polls []error // nil is a job
		age   time.Duration
		lost  bool
	}{
		"right after the start": {[]error{missing, missing, missing, missing}, 59 * time.Second, false},
		"later":                 {[]error{missing, missing, missing}, time.Minute, true},
		"not often enough":      {[]error{missing, missing}, time.Hour, false},
		"not in a row":          {[]error{missing, missing, nil, missing, missing}, time.Hour, false},
		"another error between": {[]error{missing, missing, broken, missing}, time.Hour, false},
		"another error":         {[]error{broken, broken, broken}, time.Hour, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w video.Watch
			lost := false
			for _, err := range test.polls {
				if err == nil {
					w.See(running(1), time.Time{})
					continue
				}
				lost = w.Miss(err, test.age)
				w = again(t, w)
			}
			require.Equal(t, test.lost, lost)
		})
	}
}

// TestJob_survivesJSON: workflows carry it.
func TestJob_survivesJSON(t *testing.T) {
	t.Parallel()
	percent := 3
	job := video.Job{
		ID: "a", State: video.Failed, Known: true, Word: "expired", Progress: &percent, Created: time.Unix(1790000000, 0).UTC(),
		Error: &llm.Error{Class: llm.Final, Code: task.ContentFiltered, Message: "no", Provider: "ark", Tries: 2},
	}
	require.Equal(t, job, again(t, job))
	require.Equal(t, task.ContentFiltered, job.Error.Task().Code)
}

func TestImage(t *testing.T) {
	t.Parallel()
	require.Equal(t, "https://example.com/a.png", video.Image{URL: "https://example.com/a.png"}.Address())
	require.Equal(t, "data:image/png;base64,AQI=", video.Image{ContentType: "image/png", Data: []byte{1, 2}}.Address())
}
