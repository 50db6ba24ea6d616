package video

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/spell"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/video"
	"longhaul/internal/video/videotest"
	videos "longhaul/internal/video/wire"
)

// filming is activities over a scripted provider of videos.
type filming struct {
	*Activities
	t      *testing.T
	videos *videotest.Provider
	env    *testsuite.TestActivityEnvironment
}

func newFilming(t *testing.T, options videotest.Options) *filming {
	t.Helper()
	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	f := &filming{t: t, videos: videotest.New(t, options)}
	client, err := videos.New(videos.Config{Name: "scripted", BaseURL: f.videos.URL("ark"), Dialect: "ark"})
	require.NoError(t, err)
	f.Activities = &Activities{
		Bucket: b, Files: storage.NewFiles(b), Results: &results.Store{Bucket: b}, Log: slog.New(slog.DiscardHandler),
		Call: &call.Caller{Bucket: b, Ledger: storage.NewLedger(b), MaxAttempts: 3, Log: slog.New(slog.DiscardHandler)},
		Renderer: activities.Renderer{
			Name: "scripted", Provider: client, Lane: lane.New(lane.Limits{}), Model: "m", Timeout: time.Hour, Doubt: time.Hour, Every: time.Millisecond,
		},
	}
	var suite testsuite.WorkflowTestSuite
	f.env = suite.NewTestActivityEnvironment()
	registerAll(f.env, f.Activities)
	return f
}

func registerAll(env *testsuite.TestActivityEnvironment, a *Activities) {
	for _, acts := range a.Queues() {
		for _, act := range acts {
			env.RegisterActivity(act)
		}
	}
}

// ask lays an input down and names a video of it.
func (f *filming) ask(in task.VideoInput, index int) VideoRequest {
	in.Normalize()
	require.NoError(f.t, f.Bucket.PutJSON(f.t.Context(), "input", in))
	return VideoRequest{Task: record.TaskRef{ID: "task_a", Tenant: "acme", Lineage: "task_a"}, InputKey: "input", Index: index}
}

// told is the error that a task's reader sees, and when Temporal tries again; 0 is never.
func told(t *testing.T, err error) (*task.Error, time.Duration) {
	t.Helper()
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "%v", err)
	var e *task.Error
	require.NoError(t, app.Details(&e))
	if app.NonRetryable() {
		return e, 0
	}
	return e, app.NextRetryDelay()
}

// While a submit may still arrive, that its job is not there is not believed; afterwards it is submitted again.
func TestSubmitVideo_doubt(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	req := f.ask(task.VideoInput{Prompt: "a sea"}, 0)
	o, err := f.order(t.Context(), req)
	require.NoError(t, err)
	young := fence{Name: o.fence(1), At: time.Now().Add(-time.Hour + 10*time.Second)}
	require.NoError(t, f.Bucket.PutJSON(t.Context(), o.beside("fence-1"), young))
	_, err = f.env.ExecuteActivity(f.SubmitVideo, req)
	e, wait := told(t, err)
	require.Equal(t, task.ModelUnavailable, e.Code)
	require.Greater(t, wait, time.Duration(0))
	require.LessOrEqual(t, wait, 10*time.Second)
	require.Zero(t, f.videos.Counts().Starts)

	young.At = young.At.Add(-time.Minute)
	require.NoError(t, f.Bucket.PutJSON(t.Context(), o.beside("fence-1"), young))
	value, err := f.env.ExecuteActivity(f.SubmitVideo, req)
	require.NoError(t, err)
	var job VideoJob
	require.NoError(t, value.Get(&job))
	require.Equal(t, o.fence(2), f.videos.Calls()[len(f.videos.Calls())-1].Fence)

	_, err = f.env.ExecuteActivity(f.SubmitVideo, req)
	require.NoError(t, err)
	require.Equal(t, 1, f.videos.Counts().Starts, "an id on record is the end of it")

	f.Renderer.Name = "another"
	_, err = f.env.ExecuteActivity(f.SubmitVideo, req)
	e, wait = told(t, err)
	require.Zero(t, wait)
	require.Contains(t, e.Detail, "is not configured any more (job job-1 at scripted)")
}

// counter counts waits by the lane.
type counter struct {
	call.Meter
	waits map[string]int
}

func (c counter) Waited(lane string, _ time.Duration) { c.waits[lane]++ }

// The lane of videos is told of under a name of its own, and turns away like any other.
func TestSubmitVideo_lane(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	count := counter{waits: map[string]int{}}
	f.Call.Meter = count
	_, err := f.env.ExecuteActivity(f.SubmitVideo, f.ask(task.VideoInput{Prompt: "a sea"}, 0))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"video/scripted": 1}, count.waits)
	for name, test := range map[string]struct {
		said  lane.Outcome
		code  task.Code
		again bool
	}{
		"asked to wait": {lane.Outcome{Throttled: true, RetryAfter: time.Hour}, task.RateLimited, true},
		"no money":      {lane.Outcome{Stop: &llm.Error{Class: llm.Final, Code: task.ModelQuota, Message: "pay first"}}, task.ModelQuota, false},
	} {
		closed := lane.New(lane.Limits{Concurrency: 1})
		pass, err := closed.Enter(t.Context(), lane.Caller{}, 0, time.Minute)
		require.NoError(t, err)
		pass.Done(test.said)
		f.Renderer.Lane = closed
		_, err = f.env.ExecuteActivity(f.SubmitVideo, f.ask(task.VideoInput{Prompt: "a lake"}, 0))
		e, wait := told(t, err)
		require.Equal(t, test.code, e.Code, name)
		require.Equal(t, test.again, wait > 50*time.Minute, name)
		require.Zero(t, e.Attempts, name)
	}
	require.Equal(t, 1, f.videos.Counts().Starts)
}

// A clock that is set forward between two looks for a job in doubt does not end the doubt, and one that is set back does not prolong it.
func TestSubmission_doubtedByAClockThatIsSet(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"forward": -24 * time.Hour, "back": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := doubt{"lh-1", spell.Spell{Lasted: 10 * time.Second, Seen: time.Now().Add(off)}}
			s := &submission{heart: &call.Heartbeat{}, doubt: left}
			age := s.doubted(fence{Name: "lh-1", At: time.Now().Add(off)})
			require.GreaterOrEqual(t, age, 10*time.Second)
			require.LessOrEqual(t, age, 10*time.Second+2*lookAgain)
			require.Less(t, s.doubted(fence{Name: "lh-2", At: time.Now()}), time.Second, "another submit is in doubt from its own time on")
		})
	}
}

// A job whose time is over by a clock that was set goes on, and one that is done is fetched, however late that is seen.
func TestWatchVideo_clockIsSet(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	for name, test := range map[string]struct {
		since time.Time
		seen  video.Watch
		polls []videotest.Step
	}{
		"set forward by a day": {time.Now().Add(-24 * time.Hour), video.Watch{Age: spell.Spell{Lasted: time.Minute, Seen: time.Now().Add(-24 * time.Hour)}}, []videotest.Step{videotest.Queued(), {State: "succeeded"}}},
		"set back by a day":    {time.Now().Add(24 * time.Hour), video.Watch{}, []videotest.Step{videotest.Queued(), {State: "succeeded"}}},
		"done, and seen late":  {time.Now().Add(-24 * time.Hour), video.Watch{}, []videotest.Step{{State: "succeeded"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f.videos.On(name, videotest.Script{Polls: test.polls})
			req := f.ask(task.VideoInput{Prompt: name}, 0)
			value, err := f.env.ExecuteActivity(f.SubmitVideo, req)
			require.NoError(t, err)
			watch := WatchRequest{VideoRequest: req, Watch: test.seen}
			require.NoError(t, value.Get(&watch.Job))
			watch.Job.Since = test.since
			for seen := (Watched{}); !seen.Done; watch.Watch = seen.Watch {
				value, err = f.env.ExecuteActivity(f.WatchVideo, watch)
				require.NoError(t, err)
				require.NoError(t, value.Get(&seen))
			}
		})
	}
}

// A job that the provider does not know any more is lost, but not at once.
func TestWatchVideo_lost(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	seen := record.Heartbeat{Job: &video.Watch{Percent: 40, Misses: 2}}
	for name, test := range map[string]struct {
		age  time.Duration
		lost bool
	}{"right after the start": {time.Second, false}, "later": {2 * time.Minute, true}} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			registerAll(env, f.Activities)
			env.SetHeartbeatDetails(seen)
			req := WatchRequest{VideoRequest: f.ask(task.VideoInput{Prompt: "a sea"}, 0), Job: VideoJob{ID: "job-9", Provider: "scripted", Since: time.Now().Add(-test.age)}}
			_, err := env.ExecuteActivity(f.WatchVideo, req)
			e, wait := told(t, err)
			require.Equal(t, test.lost, e.Code == task.RenderFailed, e.Detail)
			require.Equal(t, test.lost, wait == 0)
		})
	}
}

// How far a job was known to be survives the worker, and news is told when it is worth telling.
func TestWatchVideo_news(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	f.videos.On("sea", videotest.Script{Polls: []videotest.Step{
		videotest.Running(2), videotest.Running(9), videotest.Running(11), videotest.Running(5), videotest.Running(30), videotest.Succeeded(),
	}})
	req := f.ask(task.VideoInput{Prompt: "sea"}, 0)
	value, err := f.env.ExecuteActivity(f.SubmitVideo, req)
	require.NoError(t, err)
	watch := WatchRequest{VideoRequest: req}
	require.NoError(t, value.Get(&watch.Job))
	var percents []int
	for done := false; !done; {
		value, err := f.env.ExecuteActivity(f.WatchVideo, watch)
		require.NoError(t, err)
		var seen Watched
		require.NoError(t, value.Get(&seen))
		percents, done, watch.Watch = append(percents, seen.Watch.Percent), seen.Done, seen.Watch
	}
	require.Equal(t, []int{11, 30, 100}, percents)
	require.Equal(t, 6, f.videos.Counts().Polls)
}

// A worker that is asked to stop hands a job on at once.
func TestWatchVideo_workerStops(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	stop := make(chan struct{})
	close(stop)
	f.env.SetWorkerStopChannel(stop)
	req := WatchRequest{VideoRequest: f.ask(task.VideoInput{Prompt: "a sea"}, 0), Job: VideoJob{ID: "job-1", Since: time.Now()}, After: time.Hour}
	_, err := f.env.ExecuteActivity(f.WatchVideo, req)
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok)
	require.Equal(t, "worker_stopping", app.Type())
	require.Equal(t, time.Millisecond, app.NextRetryDelay())
	require.Zero(t, f.videos.Counts().Polls)
}

func TestWatching_pause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ age, least, most time.Duration }{
		"at first":   {0, 2 * time.Second, 2 * time.Second},
		"later":      {10 * time.Minute, 30 * time.Second, 31 * time.Second},
		"after long": {20 * time.Hour, 5 * time.Minute, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watching{Activities: &Activities{Renderer: activities.Renderer{Every: 2 * time.Second}}}
			w.req.Job.Since = time.Now().Add(-test.age)
			require.GreaterOrEqual(t, w.pause(), test.least)
			require.LessOrEqual(t, w.pause(), test.most)
		})
	}
}

// A picture goes along as it was uploaded; anything else is refused before it costs something.
func TestSubmitVideo_image(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	save := func(name, contentType, data string) string {
		file, err := f.Files.Save(t.Context(), "acme", name, contentType, strings.NewReader(data), 1<<30)
		require.NoError(t, err)
		return file.ID
	}
	for name, test := range map[string]struct {
		id   string
		code task.Code
	}{
		"a picture":     {save("a.png", "image/png", "PNG"), ""},
		"a document":    {save("a.pdf", "application/pdf", "PDF"), task.WrongMedia},
		"too large":     {save("b.png", "image/png", strings.Repeat("x", maxImage+1)), task.TooLarge},
		"deleted since": {"file_" + strings.Repeat("0", 40), task.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			before := f.videos.Counts().Starts
			_, err := f.env.ExecuteActivity(f.SubmitVideo, f.ask(task.VideoInput{Prompt: name, Image: &task.VideoImage{FileID: test.id}}, 0))
			if test.code == "" {
				require.NoError(t, err)
				require.Contains(t, string(f.videos.Starts(name)[0].Body), "data:image/png;base64,UE5H")
				return
			}
			e, wait := told(t, err)
			require.Zero(t, wait)
			require.Equal(t, test.code, e.Code)
			require.Equal(t, before, f.videos.Counts().Starts)
		})
	}
}

// What is asked for twice in a task is two videos, and the same in every attempt.
func TestOrder(t *testing.T) {
	t.Parallel()
	f := newFilming(t, videotest.Options{})
	keys := map[string]int{}
	for i := range 4 {
		o, err := f.order(t.Context(), f.ask(task.VideoInput{Prompts: []string{"a", "b", "a", "a"}}, i))
		require.NoError(t, err)
		keys[o.key]++
		require.Equal(t, map[int]int{0: 0, 1: 0, 2: 1, 3: 2}[i], o.Take)
		require.Regexp(t, `^lh-[0-9a-f]{40}-1$`, o.fence(1))
		require.LessOrEqual(t, len(o.fence(2)), 64)
	}
	require.Len(t, keys, 4)
}

func TestRenderer_usage(t *testing.T) {
	t.Parallel()
	eur := func(amount float64) *task.Cost { return &task.Cost{Amount: amount, Currency: "EUR"} }
	told := llm.Usage{Known: true, OutputTokens: 900}
	for name, test := range map[string]struct {
		second, job float64
		done        video.Job
		asked       int
		want        task.Usage
	}{
		"as the provider told":   {0.5, 0, video.Job{Seconds: 4, Usage: told}, 5, task.Usage{Requests: 1, OutputTokens: 900, VideoSeconds: 4, Cost: eur(2)}},
		"as asked":               {0.5, 1, video.Job{}, 5, task.Usage{Requests: 1, VideoSeconds: 5, Cost: eur(3.5)}},
		"a price of a job alone": {0, 1, video.Job{Usage: told}, 0, task.Usage{Requests: 1, OutputTokens: 900, Cost: eur(1)}},
		"nobody knows how long":  {0.5, 1, video.Job{Usage: told}, 0, task.Usage{Requests: 1, OutputTokens: 900, UnmeteredCalls: 1}},
		"nothing is known":       {0, 0, video.Job{}, 0, task.Usage{Requests: 1, UnmeteredCalls: 1}},
		"no price":               {0, 0, video.Job{Seconds: 4}, 0, task.Usage{Requests: 1, VideoSeconds: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, activities.Renderer{PerSecond: test.second, PerJob: test.job, Currency: "EUR"}.Usage(test.done, test.asked))
		})
	}
}
