package video_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
	"longhaul/workflows/video"
)

func TestVideo_everyPromptOnce(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"ark", "videos"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			b := newVideoBench(t, dialect, videotest.Options{})
			prompts := []string{"a quiet sea", "a quiet sea"} // two of the same are two videos
			for i := range 8 {
				prompts = append(prompts, fmt.Sprintf("ship %d.", i))
			}
			b.Videos.On("ship 3", videotest.Script{Start: []videotest.Reply{{Lost: true}}})
			s := b.render(record.Start[struct{}]{Facts: b.facts(task.VideoInput{Prompts: prompts, Seconds: 4})})

			require.NoError(t, b.Env.GetWorkflowError())
			require.Equal(t, task.Full, s.Outcome)
			require.Equal(t, task.Counts{Total: 10, Succeeded: 10}, s.Progress.Counts)
			require.Equal(t, 10, b.Videos.Counts().Starts)
			require.Empty(t, b.Videos.Repeats())
			require.EqualValues(t, 10, s.Usage.Requests)
			require.InDelta(t, 40, s.Usage.VideoSeconds, 0)
			require.Equal(t, &task.Cost{Amount: 10 * (4*0.5 + 0.25), Currency: "USD"}, s.Usage.Cost)
			ids := map[string]bool{}
			for i, v := range b.result().Videos {
				b.requireFilm(v, prompts[i])
				ids[v.JobID] = true
			}
			require.Len(t, ids, 10)
			require.Equal(t, 1, b.Items()[3].Attempts)
		})
	}
}

// What a provider does, and what becomes of the video. R54 and PE-15 of the field cases are among them.
func TestVideo_outcomes(t *testing.T) {
	t.Parallel()
	const prompt = "a harbour"
	good := []videotest.Step{videotest.Queued(), videotest.Running(40), videotest.Succeeded()}
	starts := func(replies ...videotest.Reply) videotest.Script { return videotest.Script{Start: replies} }
	polls := func(steps ...videotest.Step) videotest.Script { return videotest.Script{Polls: steps} }
	lost, unmade := videotest.Reply{Lost: true}, videotest.Reply{Lost: true, Unmade: true}
	tests := map[string]struct {
		dialect string // "" is ark
		options videotest.Options
		script  videotest.Script
		timeout time.Duration
		code    task.Code // "" succeeds
		says    string
		starts  int // 0 is one
		jobs    int // -1 is none, 0 is one
	}{
		"a policy refusal at once":           {script: starts(videotest.Refuse(400, "InputTextSensitiveContentDetected", "not that")), code: task.ContentFiltered, says: "not that", jobs: -1},
		"a policy refusal later":             {script: polls(videotest.Running(9), videotest.Failed("OutputVideoSensitiveContentDetected", "not shown")), code: task.ContentFiltered, says: "not shown (job job-1 at scripted)"},
		"a bad request":                      {script: starts(videotest.Refuse(400, "InvalidParameter", "duration may be 5 or 10")), code: task.ModelRefused, says: "5 or 10", jobs: -1},
		"no money":                           {script: starts(videotest.Refuse(403, "AccountOverdueError", "pay first")), code: task.ModelQuota, says: "pay first", jobs: -1},
		"asked to wait":                      {script: starts(videotest.Refuse(429, "ServerOverloaded", "later").With("Retry-After", "30"), videotest.Reply{}), starts: 2},
		"failed inside":                      {script: polls(videotest.Running(9), videotest.Failed("InternalServiceError", "a lamp broke")), code: task.RenderFailed, says: "a lamp broke"},
		"expired":                            {script: polls(videotest.Queued(), videotest.Say("expired")), code: task.RenderFailed, says: "expired"},
		"cancelled there":                    {script: polls(videotest.Queued(), videotest.Say("cancelled")), code: task.RenderFailed, says: "cancelled at the provider"},
		"a state that nobody knows":          {script: polls(videotest.Say("marinating"), videotest.Say("marinating"), videotest.Succeeded())},
		"it never ends":                      {script: polls(videotest.Say("marinating")), timeout: 100 * time.Millisecond, code: task.RenderFailed, says: "not done within 100ms"},
		"it cannot be asked, ever":           {script: polls(videotest.Step{Reply: videotest.Reply{Status: 500, Body: "oops", Delay: 20 * time.Millisecond}}), timeout: 100 * time.Millisecond, code: task.RenderFailed, says: "not done within 100ms"},
		"SUCCESS and 100%":                   {dialect: "newapi", script: polls(videotest.Step{State: "SUCCESS", Progress: "100%"})},
		"404 after the start":                {script: polls(append([]videotest.Step{videotest.Answer(404, `{"error":{"code":"ResourceNotFound","message":"no"}}`)}, good...)...)},
		"errors of polls":                    {script: polls(append([]videotest.Step{videotest.Answer(500, "oops"), videotest.Answer(502, "<html>"), videotest.Answer(401, `{}`), {Reply: lost}}, good...)...)},
		"not done after all":                 {script: polls(videotest.Queued(), videotest.Succeeded(), videotest.Running(99), videotest.Succeeded())},
		"done, without an address":           {script: polls(videotest.Step{State: "succeeded", NoURL: true}), code: task.BadResponse, says: "it was rendered, and is charged for"},
		"an address out of date":             {script: videotest.Script{Content: []videotest.Reply{videotest.Fail(403, "expired"), {}}}},
		"half a video":                       {script: videotest.Script{Content: []videotest.Reply{{HalfWay: true}, {}}}},
		"the answer was lost":                {script: starts(lost, videotest.Reply{})},
		"the submit was lost":                {script: starts(unmade, videotest.Reply{}), starts: 2},
		"the submit was lost twice":          {script: starts(unmade), starts: 2, jobs: -1, code: task.SubmissionUnknown, says: "the job of neither"},
		"an error inside, and no job":        {script: starts(videotest.Fail(500, "oops"), videotest.Reply{}), starts: 2},
		"lost, and no fences are shown":      {options: videotest.Options{Forgets: true}, script: starts(lost, videotest.Reply{}), code: task.SubmissionUnknown, says: "Look for lh-"},
		"lost, and there is no list":         {dialect: "newapi", script: starts(lost, videotest.Reply{}), code: task.SubmissionUnknown, says: "it has no list of jobs"},
		"no job made, and there is no list":  {dialect: "newapi", script: starts(unmade, videotest.Reply{}), jobs: -1, code: task.SubmissionUnknown, says: "not submitted again"},
		"refused, and there is no list":      {dialect: "newapi", script: starts(videotest.Refuse(429, "rate_limit", "later"), videotest.Reply{}), starts: 2},
		"lost among many that are not there": {options: videotest.Options{PerPage: 1}, script: starts(lost, videotest.Reply{})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.dialect == "" {
				test.dialect = "ark"
			}
			b := newVideoBench(t, test.dialect, test.options)
			if test.timeout > 0 {
				b.Parts.Renderer.Timeout = test.timeout
			}
			b.Videos.On(prompt, test.script)
			s := b.render(record.Start[struct{}]{Facts: b.facts(task.VideoInput{Prompt: prompt, Seconds: 5})})

			counts := b.Videos.Counts()
			require.Equal(t, max(test.starts, 1), counts.Starts)
			require.Equal(t, map[int]int{-1: 0, 0: 1}[test.jobs], counts.Jobs)
			require.NotContains(t, fmt.Sprint(s.Error), "sk-secret")
			if test.code == "" {
				require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
				b.requireFilm(b.result().Videos[0], prompt)
				return
			}
			require.Equal(t, test.code, s.Error.Code, s.Error.Detail)
			require.Contains(t, s.Error.Detail, test.says)
			require.Equal(t, s.Error, b.Items()[0].Error)
			require.Equal(t, test.code == task.SubmissionUnknown, s.Usage.UnmeteredCalls == 1 && counts.Polls == 0)
		})
	}
}

// A provider that is asked twice about a paid job, by a task and by its replay, is paid once.
func TestVideo_replayPaysNothing(t *testing.T) {
	t.Parallel()
	b := newVideoBench(t, "ark", videotest.Options{})
	in := task.VideoInput{Prompts: []string{"a pier", "a fog horn"}, Seconds: 5}
	b.render(record.Start[struct{}]{Facts: b.facts(in)})
	counts := b.Videos.Counts()

	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	s := b.render(record.Start[struct{}]{Facts: b.facts(in)})
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, counts, b.Videos.Counts(), "nothing is asked of the provider")
	require.Zero(t, s.Usage)
	for i, v := range b.result().Videos {
		b.requireFilm(v, in.Prompts[i])
	}
	require.True(t, b.Items()[0].Cached)
}

// Long waits between polls are timers, and a hint ends them.
func TestVideo_longWaits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hints []int // after a second
		least time.Duration
		most  time.Duration
	}{
		"nobody says anything":   {nil, 80 * time.Second, 90 * time.Second},
		"a hint":                 {[]int{0}, 40 * time.Second, 50 * time.Second},
		"the same twice":         {[]int{0, 0}, 40 * time.Second, 50 * time.Second},
		"made up, for nothing":   {[]int{7, -1}, 80 * time.Second, 90 * time.Second},
		"made up, among others ": {[]int{7, 0}, 40 * time.Second, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newVideoBench(t, "ark", videotest.Options{})
			b.Parts.Renderer.Every = 40 * time.Second
			began := b.Env.Now()
			for _, hint := range test.hints {
				b.Env.RegisterDelayedCallback(func() { b.Env.SignalWorkflow(record.SignalVideoHint, hint) }, time.Second)
			}
			s := b.render(record.Start[struct{}]{Facts: b.facts(task.VideoInput{Prompt: "a buoy"})})
			require.Equal(t, task.Full, s.Outcome)
			require.Equal(t, 4, b.Videos.Counts().Polls, "three of the watch, one for the address")
			took := b.Env.Now().Sub(began)
			require.GreaterOrEqual(t, took, test.least)
			require.Less(t, took, test.most)
		})
	}
}

// What a cancel or the deadline does to a job, by how it stands, and what is said of it.
func TestVideo_cutOff(t *testing.T) {
	t.Parallel()
	queued, running := []videotest.Step{videotest.Queued()}, []videotest.Step{videotest.Running(30)}
	cost := &task.Cost{Amount: 5*0.5 + 0.25, Currency: "USD"}
	tests := map[string]struct {
		polls    []videotest.Step
		dialect  string
		deadline bool
		status   task.ItemStatus
		says     string
		cost     *task.Cost
		deletes  int
	}{
		"queued":             {queued, "ark", false, task.ItemCancelled, "job job-1 was stopped before it began, and is not charged for", nil, 1},
		"running":            {running, "ark", false, task.ItemCancelled, "job job-1 goes on at the provider, and will be charged for: about 2.75 USD", cost, 0},
		"no way to stop":     {queued, "videos", false, task.ItemCancelled, "goes on at the provider", cost, 0},
		"done by then":       {[]videotest.Step{videotest.Running(30), videotest.Succeeded()}, "ark", false, task.ItemSucceeded, "", cost, 0},
		"failed by then":     {[]videotest.Step{videotest.Running(30), videotest.Failed("x", "a lamp broke")}, "ark", false, task.ItemCancelled, "a lamp broke", nil, 0},
		"deadline, queued":   {queued, "ark", true, task.ItemFailed, "stopped before it began", nil, 1},
		"deadline, finished": {[]videotest.Step{videotest.Running(30), videotest.Succeeded()}, "ark", true, task.ItemSucceeded, "", cost, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newVideoBench(t, test.dialect, videotest.Options{})
			b.Parts.Renderer.Every = time.Minute
			b.Videos.On("a light", videotest.Script{Polls: test.polls})
			facts := b.facts(task.VideoInput{Prompt: "a light", Seconds: 5})
			if test.deadline {
				facts.Deadline = new(b.Env.Now().Add(10 * time.Second))
			} else {
				b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 10*time.Second)
			}
			s := b.render(record.Start[struct{}]{Facts: facts})

			if test.deadline {
				require.Equal(t, task.DeadlineExceeded, s.Error.Code)
			} else {
				require.Equal(t, task.Cancelled, s.State)
			}
			item := b.Items()[0]
			require.Equal(t, test.status, item.Status)
			require.Equal(t, test.cost, item.Usage.Cost)
			require.Equal(t, item.Usage, s.Usage)
			require.Equal(t, test.deletes, b.Videos.Counts().Deletes)
			require.Equal(t, 1, b.Videos.Counts().Starts)
			if test.says != "" {
				require.Contains(t, item.Error.Detail, test.says)
				require.Equal(t, test.deadline, item.Error.Code == task.DeadlineExceeded)
			}
		})
	}
}

// A cancel before anything was submitted submits nothing, and one during a submit waits for its answer.
func TestVideo_cancelAround(t *testing.T) {
	t.Parallel()
	b := newVideoBench(t, "ark", videotest.Options{})
	b.Videos.On("slow", videotest.Script{Start: []videotest.Reply{{Delay: 300 * time.Millisecond}}, Polls: []videotest.Step{videotest.Queued()}})
	facts := b.facts(task.VideoInput{Prompts: []string{"slow"}})
	go func() {
		if b.Videos.Wait(t.Context(), func(c videotest.Counts) bool { return c.Starts == 1 }) == nil {
			b.Env.CancelWorkflow()
		}
	}()
	b.render(record.Start[struct{}]{Facts: facts})
	item := b.Items()[0]
	require.Equal(t, task.ItemCancelled, item.Status)
	require.Contains(t, item.Error.Detail, "job job-1 was stopped before it began")
	require.Equal(t, 1, b.Videos.Counts().Deletes)
}

// A long history goes on in a new run, which finds the jobs of the one before.
func TestVideo_nextRun(t *testing.T) {
	t.Parallel()
	b := newVideoBench(t, "ark", videotest.Options{})
	b.Parts.Renderer.Every = 40 * time.Second
	in := task.VideoInput{Prompts: make([]string, 12), Seconds: 5}
	for i := range in.Prompts {
		in.Prompts[i] = fmt.Sprintf("wave %d.", i)
	}
	facts := b.facts(in)
	b.Env.RegisterDelayedCallback(func() { b.Env.SetContinueAsNewSuggested(true) }, 10*time.Second)
	b.Execute("video", record.Start[struct{}]{Facts: facts})
	var next *workflow.ContinueAsNewError
	require.True(t, errors.As(b.Env.GetWorkflowError(), &next))
	var start record.Start[video.Carry]
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
	require.Len(t, start.Carry.Todo, 12)
	require.Equal(t, 10, b.Videos.Counts().Starts)

	b.Renew()
	s := b.render(start)
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, 12, b.Videos.Counts().Starts)
	require.Equal(t, task.Counts{Total: 12, Succeeded: 12}, s.Progress.Counts)
	require.EqualValues(t, 12, s.Usage.Requests)
	for i, v := range b.result().Videos {
		b.requireFilm(v, in.Prompts[i])
	}
}

// A cancel that comes when a video was left to the next run already, and another not yet, stops the jobs of both.
func TestVideo_cancelBetweenRuns(t *testing.T) {
	t.Parallel()
	b := newVideoBench(t, "ark", videotest.Options{})
	b.Videos.On("wave", videotest.Script{Polls: []videotest.Step{videotest.Running(30)}})
	b.Videos.On("slow", videotest.Script{Start: []videotest.Reply{{Delay: time.Second}}, Polls: []videotest.Step{videotest.Queued()}})
	facts := b.facts(task.VideoInput{Prompts: []string{"wave", "slow"}})
	b.Env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == "SubmitVideo" {
			b.Env.SetContinueAsNewSuggested(true)
			time.AfterFunc(200*time.Millisecond, b.Env.CancelWorkflow) // once it was heard of the first
		}
	})
	s := b.render(record.Start[struct{}]{Facts: facts})
	require.Equal(t, task.Cancelled, s.State)
	items := b.Items()
	require.Contains(t, items[0].Error.Detail, "goes on at the provider, and will be charged for")
	require.Contains(t, items[1].Error.Detail, "was stopped before it began")
	require.Equal(t, items[0].Usage, s.Usage)
	require.EqualValues(t, 1, s.Usage.Requests)
}

// A budget lets in what it has room for. What is in hand is finished, since it is paid for.
func TestVideo_budget(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget float64
		made   int
	}{"room for all": {11, 4}, "room for two and a half": {7, 2}, "room for none": {2.7, 0}, "to the last": {2.75, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newVideoBench(t, "ark", videotest.Options{})
			facts := b.facts(task.VideoInput{Prompts: []string{"a", "b", "c", "d"}, Seconds: 5}) // 2.75 each
			facts.Budget = test.budget
			s := b.render(record.Start[struct{}]{Facts: facts})
			require.Equal(t, test.made, b.Videos.Counts().Jobs)
			require.Equal(t, test.made, s.Progress.Counts.Succeeded)
			require.Equal(t, 4-test.made, s.Progress.Counts.Failed)
			if test.made < 4 {
				require.Equal(t, task.BudgetExceeded, s.Error.Code)
				require.Equal(t, task.BudgetExceeded, b.Items()[3].Error.Code)
			}
		})
	}
}

// One video that fails leaves the others as they are.
func TestVideo_partial(t *testing.T) {
	t.Parallel()
	b := newVideoBench(t, "ark", videotest.Options{})
	b.Videos.On("bad", videotest.Script{Start: []videotest.Reply{videotest.Refuse(http.StatusBadRequest, "InputTextSensitiveContentDetected", "no")}})
	s := b.render(record.Start[struct{}]{Facts: b.facts(task.VideoInput{Prompts: []string{"one", "bad", "three"}})})
	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	videos := b.result().Videos
	require.Equal(t, task.ContentFiltered, videos[1].Error.Code)
	b.requireFilm(videos[2], "three")
	require.Equal(t, "video-3.mp4", videos[2].Artifact)
	data, err := json.Marshal(videos[1])
	require.NoError(t, err)
	require.NotContains(t, string(data), "artifact")
}
