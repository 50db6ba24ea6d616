package video

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// VideoStop is what came of a wish to stop a video that was in hand.
type VideoStop struct {
	Job   VideoJob   `json:"job,omitzero"`   // the zero value when there is none
	Done  bool       `json:"done,omitempty"` // the job was over by then: its video may be there
	Said  string     `json:"said,omitempty"` // what became of the job, for a person; "" when nothing was submitted
	Usage task.Usage `json:"usage,omitzero"`
	Calls int        `json:"calls,omitempty"`
}

// StopVideo asks the provider to stop a job, and says what it costs all the same. A submit whose answer was lost
// is looked for, once.
func (a *Activities) StopVideo(ctx context.Context, req VideoRequest) (VideoStop, error) {
	heart := call.StartHeartbeat(ctx, "cancelling")
	defer heart.Stop()
	o, err := a.order(ctx, req)
	if err != nil {
		return VideoStop{}, err
	}
	s := &submission{Activities: a, heart: heart, req: req, order: o}
	job, found, err := a.job(ctx, o)
	if err == nil && !found {
		job, found, err = s.search(ctx)
	}
	switch {
	case err != nil:
		return VideoStop{}, err
	case !found && s.order.Fence == "":
		return VideoStop{}, nil
	case !found:
		said := fmt.Sprintf("a job was being submitted, and may be charged for: look for %s in the account of %s", s.order.Fence, a.Renderer.Name)
		return VideoStop{Said: said, Calls: 1, Usage: task.Usage{UnmeteredCalls: 1}}, nil
	case job.Stored:
		return VideoStop{Job: job, Done: true}, nil
	}
	return s.stop(ctx, job)
}

// search looks for the job of the last fence that stands. The fence stays in the order when there is one.
func (s *submission) search(ctx context.Context) (job VideoJob, found bool, err error) {
	for n := mostSubmits; n >= 1; n-- {
		var f fence
		stands, err := s.Call.Ledger.Look(ctx, s.fenceKey(n), &f)
		if err != nil {
			return job, false, err
		}
		if !stands {
			continue
		}
		s.order.Fence = f.Name
		seen, found, err := s.Renderer.Provider.Find(ctx, s.order.Request)
		if err != nil || !found {
			return job, false, nil //nolint:nilerr // that it cannot be found is told as such
		}
		job, err = s.keep(ctx, seen.ID, f.At)
		return job, true, err
	}
	return job, false, nil
}

func (s *submission) stop(ctx context.Context, job VideoJob) (VideoStop, error) {
	stop := VideoStop{Job: job, Calls: job.Calls}
	came, err := s.Renderer.Provider.Cancel(ctx, job.ID)
	try := call.Try{Reason: call.Fault, Count: int(activity.GetInfo(ctx).Attempt)}
	if retry, after := call.Decide(call.VideoCancel, try, 0); err != nil && retry {
		return stop, call.Retry(task.Errorf(task.ModelUnavailable, "the provider could not be asked to stop job %s: %s", job.ID, message(err)), record.CallState{}, after)
	}
	switch {
	case err != nil:
		stop.Said = fmt.Sprintf("the provider could not be asked to stop job %s: it may go on, and be charged for", job.ID)
	case came == video.Stopped:
		stop.Said = fmt.Sprintf("job %s was stopped before it began, and is not charged for", job.ID)
		return stop, nil
	case came == video.TooLate:
		stop.Done = true
		return stop, nil
	default:
		stop.Said = fmt.Sprintf("job %s goes on at the provider, and will be charged for", job.ID)
	}
	if job.mine(s.req.Task) {
		stop.Usage = s.Renderer.Usage(video.Job{}, s.order.Seconds)
	}
	if stop.Usage.Cost != nil {
		stop.Said += fmt.Sprintf(": about %g %s", stop.Usage.Cost.Amount, stop.Usage.Cost.Currency)
	}
	return stop, nil
}
