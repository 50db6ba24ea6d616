package video

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/activities/call"
	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/spell"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// fence is put down before a job is paid for. While it stands, no other submit is made for the same video until
// it is sure what came of this one.
type fence struct {
	Name string    `json:"name"` // sent along: the provider is asked for it
	At   time.Time `json:"at"`
	Lost string    `json:"lost,omitempty"` // why there was no answer, once the submit is over
}

// mostSubmits is how often a video is submitted at the most: once, and once more when the provider is sure that
// it never had the first.
const mostSubmits = 2

// submission is a video on its way to a job.
type submission struct {
	*Activities
	heart *call.Heartbeat
	req   VideoRequest
	order order
	doubt doubt
}

// SubmitVideo gets a job for a video: the one on record, or the one that a lost submit made, or a new one. A job
// is paid for, so it is never submitted again while there may be one: intent, submit and id are put down one
// after the other, and what is missing after a crash is asked of the provider. When it cannot tell, the error is
// task.SubmissionUnknown, and a person decides.
func (a *Activities) SubmitVideo(ctx context.Context, req VideoRequest) (VideoJob, error) {
	var left doubt
	heart := call.StartJobHeartbeat(ctx, "submitting", &left)
	defer heart.Stop()
	o, err := a.order(ctx, req)
	if err != nil {
		return VideoJob{}, err
	}
	s := &submission{Activities: a, heart: heart, req: req, order: o, doubt: left}
	job, found, err := a.job(ctx, o)
	switch {
	case err != nil:
		return VideoJob{}, err
	case found && job.Provider != a.Renderer.Name && !job.Stored:
		return VideoJob{}, call.Final(job.at(task.Errorf(task.ModelUnavailable, "the provider that has the job is not configured any more")), record.CallState{})
	case found:
		return job, nil
	}
	if err := a.attach(ctx, req.Task.Tenant, &s.order); err != nil {
		return VideoJob{}, call.DocumentError(ctx, err)
	}
	return s.get(ctx)
}

// get goes from fence to fence.
func (s *submission) get(ctx context.Context) (VideoJob, error) {
	for n := 1; n <= mostSubmits; n++ {
		s.order.Fence = s.order.fence(n)
		var f fence
		stands, err := s.Call.Ledger.Look(ctx, s.fenceKey(n), &f)
		if err != nil {
			return VideoJob{}, err
		}
		if !stands {
			return s.send(ctx, n)
		}
		job, found, err := s.reconcile(ctx, f)
		if err != nil || found {
			return job, err
		}
	}
	return VideoJob{}, s.unknown(ctx, "two submits were made, and the provider shows the job of neither")
}

// fence is the nth name of an order. It tells nothing of it.
func (o order) fence(n int) string {
	sum := sha256.Sum256([]byte(o.key))
	return fmt.Sprintf("lh-%s-%d", hex.EncodeToString(sum[:])[:40], n)
}

func (s *submission) fenceKey(n int) string { return s.order.beside(fmt.Sprintf("fence-%d", n)) }

// send submits the job, after the fence was put down.
func (s *submission) send(ctx context.Context, n int) (VideoJob, error) {
	pass, err := s.enter(ctx)
	if err != nil {
		return VideoJob{}, err
	}
	var told lane.Outcome
	defer func() { pass.Done(told) }()
	f := fence{Name: s.order.Fence, At: time.Now().UTC()}
	wrote, err := s.Bucket.PutNewJSON(ctx, s.fenceKey(n), f)
	if err != nil {
		return VideoJob{}, err
	}
	if !wrote { // another attempt, of a worker that was taken for lost
		return VideoJob{}, call.Retry(s.doubtful(), s.heart.Call(), time.Second)
	}
	s.heart.UpdateCall(func(state *record.CallState) { state.Calls++ })
	s.heart.SendCall(ctx)
	// From here on a cancel waits: a submit that is broken off may be paid for all the same.
	sending := context.WithoutCancel(ctx)
	job, err := s.Renderer.Provider.Start(sending, s.order.Request)
	told = call.LaneOutcome(job.Usage, llm.Limits{}, err)
	switch {
	case err == nil:
		return s.keep(ctx, job.ID, f.At)
	case video.Ambiguous(err):
		return VideoJob{}, s.lost(sending, n, f, err)
	}
	if err := s.Bucket.Delete(sending, s.fenceKey(n)); err != nil {
		s.Log.Warn("fence of a refused submit not removed", "fence", f.Name, "error", err)
	}
	return VideoJob{}, s.refused(ctx, err)
}

// enter waits for a turn in the lane.
func (s *submission) enter(ctx context.Context) (*lane.Pass, error) {
	pass, err := s.Call.Admit(ctx, s.heart, call.Gate{Lane: s.Renderer.Lane, Of: s.Renderer.LaneName(), Task: s.req.Task})
	if err != nil {
		return nil, call.NotAdmitted(ctx, err, s.heart.Call())
	}
	return pass, nil
}

// keep records a job that is paid for.
func (s *submission) keep(ctx context.Context, id string, since time.Time) (VideoJob, error) {
	job := VideoJob{
		ID: id, Provider: s.Renderer.Name, Fence: s.order.Fence, Since: since, By: s.req.Task.ID, Calls: max(s.heart.Call().Calls, 1),
	}
	return job, s.Call.Record(ctx, s.order.beside("job"), job)
}

// lost notes that a submit is over without an answer. The next attempt looks for its job.
func (s *submission) lost(ctx context.Context, n int, f fence, err error) error {
	f.Lost = err.Error()
	if refusal, ok := errors.AsType[*llm.Error](err); ok {
		f.Lost = refusal.Message
	}
	if err := s.Bucket.PutJSON(ctx, s.fenceKey(n), f); err != nil {
		s.Log.Warn("end of a submit not noted", "fence", f.Name, "error", err)
	}
	s.heart.UpdateCall(func(state *record.CallState) { state.Errors++ })
	s.heart.Flush(ctx)
	s.Log.Warn("submit of a video without an answer; its job is looked for", "fence", f.Name, "error", err)
	return call.Retry(s.doubtful(), s.heart.Call(), call.Immediately)
}

// doubtful is what readers see while a job is looked for.
func (s *submission) doubtful() *task.Error {
	return task.Errorf(task.ModelUnavailable, "the answer to a submit was lost; the provider is asked whether it has the job")
}

// reconcile asks the provider for the job of a fence. Found is false only when it surely never had it.
func (s *submission) reconcile(ctx context.Context, f fence) (job VideoJob, found bool, err error) {
	seen, found, err := s.Renderer.Provider.Find(ctx, s.order.Request)
	age := s.doubted(f)
	unsure := age < s.Renderer.Doubt
	switch {
	case ctx.Err() != nil:
		return job, false, call.Stopped(ctx, s.heart.Call())
	case found:
		job, err = s.keep(ctx, seen.ID, f.At)
		return job, true, err
	case errors.Is(err, video.ErrCannotFind) && (f.Lost != "" || !unsure):
		return job, false, s.unknown(ctx, lostBecause(f)+"; "+message(err))
	case err != nil && !unsure && age >= s.Renderer.Doubt+findLimit:
		return job, false, s.unknown(ctx, lostBecause(f)+"; the provider could not be asked for the job: "+message(err))
	case err != nil || unsure:
		s.heart.Flush(ctx)
		wait := min(call.RetryDelay(0, int(activity.GetInfo(ctx).Attempt)), lookAgain)
		if left := s.Renderer.Doubt - age; left > 0 {
			wait = min(wait, left+time.Millisecond)
		}
		return job, false, call.Retry(s.doubtful(), s.heart.Call(), wait)
	}
	return job, false, nil
}

// doubt is how long the outcome of a submit has been unknown. It is kept in the heartbeat of the activity.
type doubt struct {
	Fence string      `json:"fence"`
	Age   spell.Spell `json:"age"`
}

// findLimit is how long a provider that cannot be asked for a job in doubt is asked again.
const findLimit = 15 * time.Minute

// lookAgain is how long it takes at the most until the provider is asked again for a job that is in doubt.
const lookAgain = 15 * time.Second

// doubted is how long there has been no answer to a submit. A clock that is set must not end the doubt: the job may still show up, and a
// second submit would be paid for as well.
func (s *submission) doubted(f fence) (age time.Duration) {
	if s.doubt.Fence != f.Name {
		s.doubt = doubt{f.Name, spell.Since(f.At, time.Now())}
	}
	age = s.doubt.Age.Look(time.Now(), 2*lookAgain)
	kept := s.doubt
	s.heart.Update(func(b *record.Heartbeat) { b.Job = &kept })
	return age
}

func lostBecause(f fence) string {
	if f.Lost == "" {
		return "the worker was lost while it submitted the job"
	}
	return "the answer to the submit was lost: " + f.Lost
}

// message is what a tenant may read of an error of the provider.
func message(err error) string {
	if refusal, ok := errors.AsType[*llm.Error](err); ok {
		return refusal.Message
	}
	return "it cannot be reached"
}

// unknown fails a submit whose outcome is unknown: the provider may have made a job.
func (s *submission) unknown(ctx context.Context, why string) error {
	e := task.Errorf(task.SubmissionUnknown,
		"%s. A job may have been made, and be charged for; it was not submitted again. Look for %s in the account of %s, and run the prompt in a new task if it is not there",
		why, s.order.Fence, s.Renderer.Name)
	b := s.heart.Flush(ctx)
	return call.Failure(e, record.Spent{Calls: max(b.Calls, 1), Usage: task.Usage{UnmeteredCalls: 1}}, temporal.ApplicationErrorOptions{NonRetryable: true})
}

// refused tells Temporal whether a submit that surely made no job may be made again, and when.
func (s *submission) refused(ctx context.Context, err error) error {
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		refusal = &llm.Error{Class: llm.Retry, Code: task.ModelUnavailable, Message: "the submit failed", Err: err}
	}
	s.heart.UpdateCall(func(state *record.CallState) { call.CountFailure(state, refusal, nil); state.Wasted = task.Usage{} })
	s.heart.Flush(ctx)
	b := s.heart.Call()
	s.Log.Info("submit of a video refused", "error", refusal, "class", refusal.Class, "calls", b.Calls, "errors", b.Errors)
	retry, after := call.Decide(call.VideoSubmit, call.TryOf(refusal, b), s.Call.MaxAttempts)
	if !retry {
		return call.Final(refusal.Task(), b)
	}
	return call.Retry(refusal.Task(), b, after)
}
