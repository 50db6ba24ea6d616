package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// BuryRequest asks to keep a task that failed for good, or some of whose items did.
type BuryRequest struct {
	Task     Task
	Kind     string
	Headline string
	Labels   map[string]string
	ReplayOf string
	Facts    any // workflows.Facts
	At       time.Time
	Error    *task.Error // of the task; nil when only items failed
	Finished Finished
	Usage    task.Usage
}

// Bury keeps a task among the dead letters, with what a person must know to mend it. Run again it writes the same again.
func (a *Activities) Bury(ctx context.Context, req BuryRequest) error {
	heart := startHeart(ctx, "keeping what failed")
	defer heart.Stop()
	facts, err := json.Marshal(req.Facts)
	if err != nil {
		return err
	}
	return storage.NewDeadLetters(a.Bucket).Bury(ctx, req.Task.Tenant, storage.Grave{DeadLetter: Letter(req), Facts: facts})
}

// Letter is the dead letter of a task that ended.
func Letter(req BuryRequest) task.DeadLetter {
	d := task.DeadLetter{
		ID: req.Task.ID, Object: "dead_letter", Status: task.DeadOpen, Kind: req.Kind, Headline: req.Headline, Labels: req.Labels, Model: req.Task.Model, At: req.At,
		Outcome: req.Finished.Outcome, Counts: req.Finished.Counts, Usage: req.Usage, Error: req.Error, Failures: req.Finished.Failures,
		ReplayOf: req.ReplayOf, Replays: []task.ReplayNote{},
		Replay: task.ReplayCall{Method: "POST", Path: "/v1/tasks/" + req.Task.ID + "/replay", Body: `{"scope":"failed"}`},
	}
	if d.Labels == nil {
		d.Labels = map[string]string{}
	}
	if len(d.Failures) == 0 && req.Error != nil || ofTheWhole(req.Error) {
		d.Failures = task.CountFailure(d.Failures, task.FailedItem{Error: req.Error})
	}
	slices.SortStableFunc(d.Failures, func(a, b task.Failure) int { return cmp.Compare(b.Count, a.Count) })
	for i, f := range d.Failures {
		d.Failures[i].Fingerprint = task.Fingerprint(req.Kind, f.Step, f.Code, f.Provider)
	}
	why := d.Failures[0].Code
	if ofTheWhole(req.Error) {
		why = req.Error.Code
	}
	d.Cause, d.Fix = task.Diagnosis(why)
	return d
}

// ofTheWhole reports whether an error is the task's own, and not that of its items.
func ofTheWhole(e *task.Error) bool {
	return e != nil && (e.Code == task.DeadlineExceeded || e.Code == task.BudgetExceeded || e.Code == task.Terminated)
}
