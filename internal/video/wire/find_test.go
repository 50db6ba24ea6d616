package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/video"
	"longhaul/internal/video/videotest"
)

// search is a provider after a submit whose answer was lost, and what looking for the job comes to.
type search struct {
	dialect string
	options videotest.Options
	others  int  // jobs that were made after it
	unmade  bool // the submit made none
	found   bool
	blind   bool // the provider cannot be asked
}

func searches() map[string]search {
	return map[string]search{
		"Ark: it is there":                        {dialect: "ark", found: true},
		"Ark: it is behind others":                {dialect: "ark", others: 7, options: videotest.Options{PerPage: 3}, found: true},
		"Ark: it is not there":                    {dialect: "ark", unmade: true, others: 3},
		"Ark: it is not there, on several pages":  {dialect: "ark", unmade: true, others: 5, options: videotest.Options{PerPage: 2}},
		"Ark: there is nothing at all":            {dialect: "ark", unmade: true},
		"Ark: the list is too long":               {dialect: "ark", others: 12, options: videotest.Options{PerPage: 1}, blind: true},
		"Ark: the list does not show whose it is": {dialect: "ark", options: videotest.Options{Forgets: true}, blind: true},
		"videos: a relay that keeps metadata":     {dialect: "videos", found: true},
		"videos: one that does, and has it not":   {dialect: "videos", unmade: true, others: 2},
		"videos: a relay that does not":           {dialect: "videos", options: videotest.Options{Forgets: true}, blind: true},
		"videos: more than a page":                {dialect: "videos", others: 3, options: videotest.Options{PerPage: 2}, blind: true},
		"videos: a relay without a list":          {dialect: "videos", options: videotest.Options{NoList: true}, blind: true},
		"newapi: there is no list":                {dialect: "newapi", blind: true},
	}
}

// TestFind follows a submit whose answer was lost.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, test := range searches() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := videotest.New(t, test.options)
			p.On("lost", videotest.Script{Start: []videotest.Reply{{Lost: true, Unmade: test.unmade}}})
			c := client(t, p, test.dialect)
			_, err := c.Start(t.Context(), ask("lost"))
			require.True(t, video.Ambiguous(err))
			for i := range test.others {
				_, err := c.Start(t.Context(), ask(fmt.Sprint("other ", i)))
				require.NoError(t, err)
			}
			job, found, err := c.Find(t.Context(), ask("lost"))
			require.Equal(t, test.found, found)
			if test.blind {
				require.ErrorIs(t, err, video.ErrCannotFind)
				require.Equal(t, llm.Final, fail(t, err).Class)
				return
			}
			require.NoError(t, err)
			if found {
				require.Equal(t, p.Jobs("lost")[0].ID, job.ID)
				require.Equal(t, video.Queued, job.State)
			}
			require.Len(t, p.Starts("lost"), 1)
			require.Empty(t, p.Repeats())
		})
	}
}

func TestFind_noFence(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	_, _, err := client(t, p, "ark").Find(t.Context(), video.Request{Model: "m", Prompt: "p"})
	require.ErrorIs(t, err, video.ErrCannotFind)
	require.Zero(t, p.Counts().Lists)
}

// stopping is a job, and what a wish to cancel it comes to.
type stopping struct {
	dialect string
	step    videotest.Step
	remove  videotest.Reply
	want    video.Stop
	deletes int
	left    string // the state that the provider has it in then
}

func stops() map[string]stopping {
	return map[string]stopping{
		"Ark: queued":                      {"ark", videotest.Queued(), videotest.Reply{}, video.Stopped, 1, "cancelled"},
		"Ark: running":                     {"ark", videotest.Running(nil), videotest.Reply{}, video.Unstoppable, 0, "running"},
		"Ark: in a state that is unknown":  {"ark", videotest.Say("marinating"), videotest.Reply{}, video.Unstoppable, 0, "marinating"},
		"Ark: succeeded, and is not lost":  {"ark", videotest.Succeeded(), videotest.Reply{}, video.TooLate, 0, "succeeded"},
		"Ark: failed":                      {"ark", videotest.Failed("x", "y"), videotest.Reply{}, video.TooLate, 0, "failed"},
		"Ark: cancelled before":            {"ark", videotest.Say("cancelled"), videotest.Reply{}, video.Stopped, 0, "cancelled"},
		"Ark: began while it was asked":    {"ark", videotest.Queued(), videotest.Refuse(409, "InvalidAction", "running"), video.Unstoppable, 1, "queued"},
		"videos: has no way, is not asked": {"videos", videotest.Queued(), videotest.Reply{}, video.Unstoppable, 0, ""},
		"newapi: has no way, is not asked": {"newapi", videotest.Queued(), videotest.Reply{}, video.Unstoppable, 0, ""},
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, test := range stops() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := videotest.New(t, videotest.Options{})
			p.On("", videotest.Script{Polls: []videotest.Step{test.step}, Delete: test.remove})
			c := client(t, p, test.dialect)
			job, err := c.Start(t.Context(), ask("x"))
			require.NoError(t, err)
			got, err := c.Cancel(t.Context(), job.ID)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			require.Equal(t, test.deletes, p.Counts().Deletes)
			require.Equal(t, test.left, p.Jobs("")[0].Told)
		})
	}
}

func TestCancel_fails(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("", videotest.Script{Polls: []videotest.Step{videotest.Queued()}, Delete: videotest.Refuse(500, "x", "boom")})
	c := client(t, p, "ark")
	job, err := c.Start(t.Context(), ask("x"))
	require.NoError(t, err)
	_, err = c.Cancel(t.Context(), job.ID)
	require.Equal(t, llm.Retry, fail(t, err).Class)
	_, err = c.Cancel(t.Context(), "another")
	require.ErrorIs(t, err, video.ErrNoJob)
}
