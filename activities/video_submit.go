package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
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
	heart *heart
	req   VideoRequest
	order order
}

// SubmitVideo gets a job for a video: the one on record, or the one that a lost submit made, or a new one. A job
// is paid for, so it is never submitted again while there may be one: intent, submit and id are put down one
// after the other, and what is missing after a crash is asked of the provider. When it cannot tell, the error is
// task.SubmissionUnknown, and a person decides.
func (a *Activities) SubmitVideo(ctx context.Context, req VideoRequest) (VideoJob, error) {
	heart := startHeart(ctx, "submitting")
	defer heart.Stop()
	o, err := a.order(ctx, req)
	if err != nil {
		return VideoJob{}, err
	}
	s := &submission{Activities: a, heart: heart, req: req, order: o}
	job, found, err := a.job(ctx, o)
	switch {
	case err != nil:
		return VideoJob{}, err
	case found && job.Provider != a.Videos.Name && !job.Stored:
		return VideoJob{}, final(job.at(task.Errorf(task.ModelUnavailable, "the provider that has the job is not configured any more")), Beat{})
	case found:
		return job, nil
	}
	if err := a.attach(ctx, req.Task.Tenant, &s.order); err != nil {
		return VideoJob{}, documentError(ctx, err)
	}
	return s.get(ctx)
}

// get goes from fence to fence.
func (s *submission) get(ctx context.Context) (VideoJob, error) {
	for n := 1; n <= mostSubmits; n++ {
		s.order.Fence = s.order.fence(n)
		var f fence
		stands, err := s.Ledger.Look(ctx, s.fenceKey(n), &f)
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
		return VideoJob{}, again(s.doubtful(), s.beat(), time.Second)
	}
	s.heart.note(func(b *Beat) { b.Calls++ })
	activity.RecordHeartbeat(ctx, s.heart.now())
	// From here on a cancel waits: a submit that is broken off may be paid for all the same.
	sending := context.WithoutCancel(ctx)
	job, err := s.Videos.Provider.Start(sending, s.order.Request)
	told = outcome(job.Usage, llm.Limits{}, err)
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
	pass, err := s.wait(ctx, s.heart, door{lane: s.Videos.Lane, of: s.Videos.LaneName(), task: s.req.Task})
	if err != nil {
		return nil, turnedAway(ctx, err, s.beat())
	}
	return pass, nil
}

// keep records a job that is paid for.
func (s *submission) keep(ctx context.Context, id string, since time.Time) (VideoJob, error) {
	job := VideoJob{
		ID: id, Provider: s.Videos.Name, Fence: s.order.Fence, Since: since, By: s.req.Task.ID, Calls: max(s.heart.now().Calls, 1),
	}
	return job, s.record(ctx, s.order.beside("job"), job)
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
	s.heart.note(func(b *Beat) { b.Errors++ })
	s.heart.last(ctx)
	s.Log.Warn("submit of a video without an answer; its job is looked for", "fence", f.Name, "error", err)
	return again(s.doubtful(), s.beat(), atOnce)
}

// doubtful is what readers see while a job is looked for.
func (s *submission) doubtful() *task.Error {
	return task.Errorf(task.ModelUnavailable, "the answer to a submit was lost; the provider is asked whether it has the job")
}

// reconcile asks the provider for the job of a fence. Found is false only when it surely never had it.
func (s *submission) reconcile(ctx context.Context, f fence) (job VideoJob, found bool, err error) {
	seen, found, err := s.Videos.Provider.Find(ctx, s.order.Request)
	age := s.doubted(f)
	unsure := age < s.Videos.Doubt
	switch {
	case ctx.Err() != nil:
		return job, false, stopped(ctx, s.beat())
	case found:
		job, err = s.keep(ctx, seen.ID, f.At)
		return job, true, err
	case errors.Is(err, video.ErrCannotFind) && (f.Lost != "" || !unsure):
		return job, false, s.unknown(ctx, lostBecause(f)+"; "+message(err))
	case err != nil && !unsure && age >= s.Videos.Doubt+outagePatience:
		return job, false, s.unknown(ctx, lostBecause(f)+"; the provider could not be asked for the job: "+message(err))
	case err != nil || unsure:
		s.heart.last(ctx)
		wait := min(pause(0, int(activity.GetInfo(ctx).Attempt)), lookAgain)
		if left := s.Videos.Doubt - age; left > 0 {
			wait = min(wait, left+time.Millisecond)
		}
		return job, false, again(s.doubtful(), s.beat(), wait)
	}
	return job, false, nil
}

// doubt is how long the end of a submit has not been known.
type doubt struct {
	Fence string
	spell.Spell
}

// lookAgain is how long it takes at the most until the provider is asked again for a job that is in doubt.
const lookAgain = 15 * time.Second

// doubted is how long there has been no answer to a submit. A clock that is set must not end the doubt: the job may still show up, and a
// second submit would be paid for as well.
func (s *submission) doubted(f fence) (age time.Duration) {
	s.heart.note(func(b *Beat) {
		if b.Doubt.Fence != f.Name {
			b.Doubt = doubt{f.Name, spell.Since(f.At, time.Now())}
		}
		age = b.Doubt.Look(time.Now(), 2*lookAgain)
	})
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

// unknown ends a submit of which nobody can tell what came of it.
func (s *submission) unknown(ctx context.Context, why string) error {
	e := task.Errorf(task.SubmissionUnknown,
		"%s. A job may have been made, and be charged for; it was not submitted again. Look for %s in the account of %s, and run the prompt in a new task if it is not there",
		why, s.order.Fence, s.Videos.Name)
	b := s.heart.last(ctx)
	return failure(e, Spent{Calls: max(b.Calls, 1), Usage: task.Usage{UnmeteredCalls: 1}}, temporal.ApplicationErrorOptions{NonRetryable: true})
}

// beat is what is told of the calls so far: those that were lost are accounted for by their job.
func (s *submission) beat() Beat {
	b := s.heart.now()
	b.Answered = b.Calls - b.Errors - b.Throttled - b.Down - b.Stopped
	return b
}

// refused tells Temporal whether a submit that surely made no job may be made again, and when.
func (s *submission) refused(ctx context.Context, err error) error {
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		refusal = &llm.Error{Class: llm.Retry, Code: task.ModelUnavailable, Message: "the submit failed", Err: err}
	}
	s.heart.note(func(b *Beat) { b.count(refusal, nil); b.Wasted = task.Usage{} })
	s.heart.last(ctx)
	b := s.beat()
	s.Log.Info("submit of a video refused", "error", refusal, "class", refusal.Class, "calls", b.Calls, "errors", b.Errors)
	switch down := outage(refusal); {
	case refusal.Class == llm.Final,
		down && b.Away.Lasted >= outagePatience,
		!down && refusal.Class == llm.Wait && b.Asked.Lasted >= throttlePatience,
		!down && refusal.Class == llm.Retry && b.Errors >= s.MaxAttempts:
		return final(refusal.Task(), b)
	case down:
		return again(refusal.Task(), b, pause(refusal.RetryAfter, b.Down))
	case refusal.Class == llm.Wait:
		return again(refusal.Task(), b, pause(refusal.RetryAfter, b.Throttled))
	default:
		return again(refusal.Task(), b, pause(refusal.RetryAfter, b.Errors))
	}
}
