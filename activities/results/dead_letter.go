package results

import (
	"cmp"
	"context"
	"slices"
	"time"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// DeadLetterRequest asks to keep a task that failed for good, or some of whose items did.
type DeadLetterRequest struct {
	Facts    record.Facts `json:"facts"`
	At       time.Time    `json:"at"`
	Error    *task.Error  `json:"error,omitempty"` // of the task; nil when only items failed
	Finished Finished     `json:"finished"`
	Usage    task.Usage   `json:"usage"`
}

// WriteDeadLetter keeps a task among the dead letters, with what a person needs to repair it. A retry writes the same.
func (a *Store) WriteDeadLetter(ctx context.Context, req DeadLetterRequest) error {
	heart := call.StartHeartbeat(ctx, "keeping what failed")
	defer heart.Stop()
	return storage.NewDeadLetters(a.Bucket).Write(ctx, req.Facts.Tenant, storage.StoredDeadLetter{DeadLetter: DeadLetter(req), Facts: req.Facts})
}

// DeadLetter makes the dead letter of an ended task.
func DeadLetter(req DeadLetterRequest) task.DeadLetter {
	f := req.Facts
	d := task.DeadLetter{
		ID: f.ID, Object: "dead_letter", Status: task.DeadOpen, Kind: f.Kind, Headline: f.Headline, Labels: f.Labels, Model: f.Model, At: req.At,
		Outcome: req.Finished.Outcome, Counts: req.Finished.Counts, Usage: req.Usage, Error: req.Error, Failures: req.Finished.Failures,
		ReplayOf: f.ReplayOf, Replays: []task.ReplayNote{},
		Replay: task.ReplayCall{Method: "POST", Path: "/v1/tasks/" + f.ID + "/replay", Body: `{"scope":"failed"}`},
	}
	if d.Labels == nil {
		d.Labels = map[string]string{}
	}
	if len(d.Failures) == 0 && req.Error != nil || isTaskError(req.Error) {
		d.Failures = task.CountFailure(d.Failures, task.FailedItem{Error: req.Error})
	}
	slices.SortStableFunc(d.Failures, func(a, b task.Failure) int { return cmp.Compare(b.Count, a.Count) })
	for i, f := range d.Failures {
		d.Failures[i].Fingerprint = task.Fingerprint(d.Kind, f.Step, f.Code, f.Provider)
	}
	why := d.Failures[0].Code
	if isTaskError(req.Error) {
		why = req.Error.Code
	}
	d.Cause, d.Fix = task.Diagnosis(why)
	return d
}

// isTaskError reports whether an error concerns the task as a whole rather than its items.
func isTaskError(e *task.Error) bool {
	return e != nil && (e.Code == task.DeadlineExceeded || e.Code == task.BudgetExceeded || e.Code == task.Terminated)
}
