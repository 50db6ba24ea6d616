package video

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/activities/call"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// WatchRequest asks how a job goes on.
type WatchRequest struct {
	VideoRequest
	Job   VideoJob      `json:"job,omitzero"`
	Watch video.Watch   `json:"watch,omitzero"`  // what was seen of it before
	After time.Duration `json:"after,omitempty"` // how long to wait before it is asked for
}

// Watched is news of a job: its video is there, or it has come on, or it is worth waiting for outside of a worker.
type Watched struct {
	Watch video.Watch   `json:"watch,omitzero"`
	Done  bool          `json:"done,omitempty"`  // the video is there
	After time.Duration `json:"after,omitempty"` // when to ask again
}

// SlotPatience is the longest wait between polls that a worker keeps a place for.
const SlotPatience = 15 * time.Second

// worthTelling is by how many per cent a job must have come on to be news.
const worthTelling = 10

// WatchVideo asks for a job until there is news of it. That it cannot be asked says nothing of the job: Temporal
// asks again, until the job's time is up. A job that gave nothing is an error that is final.
func (a *Activities) WatchVideo(ctx context.Context, req WatchRequest) (Watched, error) {
	last := req.Watch // as the last attempt left it, if there was one
	heart := call.StartJobHeartbeat(ctx, "rendering", &last)
	defer heart.Stop()
	w := &watching{Activities: a, heart: heart, req: req, watch: last}
	after := req.After
	if activity.HasHeartbeatDetails(ctx) {
		after = 0
	}
	for {
		if err := w.sleep(ctx, after); err != nil {
			return Watched{}, err
		}
		next, err := w.poll(ctx)
		if err != nil {
			return Watched{}, err
		}
		after = w.pause()
		if next == video.Fetch || after > SlotPatience || w.watch.Percent >= req.Watch.Percent+worthTelling {
			return Watched{Watch: w.watch, Done: next == video.Fetch, After: after}, nil
		}
	}
}

// watching is a job that is being polled.
type watching struct {
	*Activities
	heart *call.Heartbeat
	req   WatchRequest
	watch video.Watch
}

// pause is how long to wait until the next poll: a twentieth of the job's age, up to five minutes.
func (w *watching) pause() time.Duration {
	return min(max(w.age()/20, w.Renderer.Every), 5*time.Minute)
}

func (w *watching) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-activity.GetWorkerStopChannel(ctx):
	case <-ctx.Done():
	}
	return call.Stopped(ctx, w.heart.Flush(ctx))
}

func (w *watching) age() time.Duration { return w.watch.Aged(w.req.Job.Since, time.Now()) }

// poll asks once, and keeps what it saw for a next attempt. Also a job whose time is over is asked for first: it may be done.
func (w *watching) poll(ctx context.Context) (video.Next, error) {
	job, err := w.Renderer.Provider.Status(ctx, w.req.Job.ID)
	over := w.age() >= w.Renderer.Timeout && ctx.Err() == nil
	switch {
	case over && (err != nil || job.State == video.Queued || job.State == video.Running):
		return "", w.overdue(ctx)
	case err != nil:
		return "", w.unasked(ctx, err)
	}
	next, strange := w.watch.See(job, time.Now())
	if strange {
		w.Log.Warn("a job of a video is in a state that is not known; it is taken for running", "job", job.ID, "word", job.Word)
	}
	w.note(func(b *record.Heartbeat) { b.Call.Errors, b.Done, b.Total = 0, w.watch.Percent, 100 })
	if next == video.End {
		return next, w.ended(job)
	}
	return next, nil
}

func (w *watching) note(change func(*record.Heartbeat)) {
	seen := w.watch
	w.heart.Update(func(b *record.Heartbeat) { b.Job = &seen; change(b) })
}

// unasked is the error of a poll that told nothing of the job.
func (w *watching) unasked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return call.Stopped(ctx, w.heart.Flush(ctx))
	}
	lost := w.watch.Miss(err, w.age())
	w.note(func(b *record.Heartbeat) { b.Call.Errors++ })
	b := w.heart.Flush(ctx)
	if lost {
		return w.failed(task.Errorf(task.RenderFailed, "the provider does not know the job any more; it may have been charged for"), task.Usage{UnmeteredCalls: 1})
	}
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	e := refusal.Task()
	e.Detail = "the provider cannot be asked how the job stands: " + e.Detail
	_, after := call.Decide(call.VideoPoll, call.Try{Reason: call.Outage, Count: b.Errors, Hint: refusal.RetryAfter}, 0) // until the job times out
	return call.Retry(e, record.CallState{}, max(after, w.Renderer.Every))
}

// ended is the error of a job that gave nothing.
func (w *watching) ended(job video.Job) error {
	var used task.Usage
	if w.req.Job.mine(w.req.Task) && job.Usage.Known {
		used = task.Usage{Requests: 1, InputTokens: job.Usage.InputTokens, OutputTokens: job.Usage.OutputTokens}
	}
	switch {
	case job.State == video.Cancelled:
		return w.failed(task.Errorf(task.RenderFailed, "the job was cancelled at the provider"), used)
	case job.Error == nil:
		return w.failed(task.Errorf(task.RenderFailed, "the provider gives no reason"), used)
	case job.Error.Code == task.ModelUnavailable, job.Error.Code == task.BadResponse:
		e := task.Errorf(task.RenderFailed, "%s", job.Error.Message).Because(job.Error)
		e.Provider = job.Error.Task().Provider
		return w.failed(e, used)
	}
	return w.failed(job.Error.Task(), used)
}

// overdue gives up a job whose time is over.
func (w *watching) overdue(ctx context.Context) error {
	became := "it may go on, and be charged for"
	used := task.Usage{UnmeteredCalls: 1}
	if stop, err := w.Renderer.Provider.Cancel(ctx, w.req.Job.ID); err == nil && stop == video.Stopped {
		became, used = "it was stopped before it began", task.Usage{}
	}
	return w.failed(task.Errorf(task.RenderFailed, "the job was not done within %s; %s", w.Renderer.Timeout, became), used)
}

func (w *watching) failed(e *task.Error, used task.Usage) error {
	return call.Failure(w.req.Job.at(e), record.Spent{Calls: w.req.Job.Calls, Usage: used}, temporal.ApplicationErrorOptions{NonRetryable: true})
}
