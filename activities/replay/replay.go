package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Ready is a replay that can be started, or why there is none.
type Ready struct {
	Facts record.Facts `json:"facts"`
	Steps int          `json:"steps"`          // of its kind
	Skip  string       `json:"skip,omitempty"` // why the dead letter is not replayed; "" if it is
}

// ReplaysPlan is which dead letters a bulk replay runs again, the oldest first.
type ReplaysPlan struct {
	IDs       []string `json:"ids,omitempty"`
	Canary    int      `json:"canary,omitempty"`
	PerMinute int      `json:"per_minute,omitempty"`
}

// mostReplays is how many dead letters one bulk replay runs again.
const mostReplays = 5000

// PlanReplays finds the dead letters that are to be run again. Run again it may find others.
func (a *Activities) PlanReplays(ctx context.Context, req record.PlanRequest) (ReplaysPlan, error) {
	heart := call.StartHeartbeat(ctx, "looking for dead letters")
	defer heart.Stop()
	var in task.ReplayInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return ReplaysPlan{}, err
	}
	plan := ReplaysPlan{IDs: in.IDs, Canary: *in.Canary, PerMinute: in.PerMinute}
	if len(plan.IDs) > 0 {
		return plan, nil
	}
	letters := storage.NewDeadLetters(a.Bucket)
	for name, err := range letters.All(ctx, req.Task.Tenant, true, "") {
		if err != nil {
			return plan, err
		}
		g, err := letters.Read(ctx, req.Task.Tenant, true, name)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return plan, err
		}
		if g.Match(in.Kind, in.Fingerprint) {
			plan.IDs = append(plan.IDs, g.ID)
		}
		heart.Update(func(b *record.Heartbeat) { b.Done++ })
	}
	slices.Reverse(plan.IDs)
	plan.IDs = plan.IDs[:min(len(plan.IDs), mostReplays)]
	if len(plan.IDs) == 0 {
		return plan, call.Final(task.Errorf(task.NotFound, "there is no open dead letter of that sort"), record.CallState{})
	}
	return plan, nil
}

// ReplayRequest asks about one dead letter of a bulk replay.
type ReplayRequest struct {
	Task     record.TaskRef `json:"task,omitzero"`
	InputKey string         `json:"input_key,omitempty"`
	Index    int            `json:"index,omitempty"`
	Letter   string         `json:"letter,omitempty"` // its id
}

// PrepareReplay lays the input of a replay into the bucket, and gives what it is started with. A dead letter that is not open any more is skipped,
// unless it was this task that dealt with it.
func (a *Activities) PrepareReplay(ctx context.Context, req ReplayRequest) (Ready, error) {
	heart := call.StartHeartbeat(ctx, "preparing a replay")
	defer heart.Stop()
	var in task.ReplayInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return Ready{}, err
	}
	g, err := storage.NewDeadLetters(a.Bucket).Find(ctx, req.Task.Tenant, req.Letter)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return Ready{Skip: "there is no dead letter " + req.Letter}, nil
	case err != nil:
		return Ready{}, err
	case g.Status != task.DeadOpen && !noted(g, req.Task.ID):
		return Ready{Skip: "it was " + string(g.Status) + " before"}, nil
	}
	replay, err := a.writeInput(ctx, g, in.ReplayOrder, time.Now())
	if told, ok := errors.AsType[*task.Error](err); ok {
		return Ready{Skip: told.Detail}, nil
	}
	replay.Facts.Queue = a.Router.Targets(a.Router.Model(replay.Facts.Model))[0].Queue
	return Ready{Facts: replay.Facts, Steps: replay.Steps}, err
}

// writeInput writes the input of a replay of a dead letter into the bucket.
func (a *Activities) writeInput(ctx context.Context, g storage.StoredDeadLetter, order task.ReplayOrder, now time.Time) (activities.Replay, error) {
	input, err := a.Bucket.Get(ctx, g.Facts.InputKey)
	if errors.Is(err, storage.ErrNotFound) {
		return activities.Replay{}, task.Errorf(task.Gone, "the input of task %s has been removed from the bucket", g.ID)
	}
	if err != nil {
		return activities.Replay{}, err
	}
	replay, err := a.Kinds.Replay(g.Facts, input, order, g.Counts.Succeeded, now)
	if err != nil {
		return activities.Replay{}, err
	}
	return replay, a.Bucket.PutJSON(ctx, replay.Facts.InputKey, replay.Input)
}

func noted(g storage.StoredDeadLetter, by string) bool {
	return slices.ContainsFunc(g.Replays, func(n task.ReplayNote) bool { return n.By == by })
}

// NoteReplayRequest says that a replay of a dead letter was started.
type NoteReplayRequest struct {
	Task   record.TaskRef `json:"task,omitzero"`
	Letter string         `json:"letter,omitempty"`
	Replay string         `json:"replay,omitempty"` // id of the task that runs it again
	At     time.Time      `json:"at,omitzero"`      // when it was started
}

// NoteReplay takes a dead letter out of the open ones: it is run again. Run again it changes nothing.
func (a *Activities) NoteReplay(ctx context.Context, req NoteReplayRequest) error {
	heart := call.StartHeartbeat(ctx, "recording")
	defer heart.Stop()
	_, err := storage.NewDeadLetters(a.Bucket).Settle(ctx, req.Task.Tenant, req.Letter, func(d *task.DeadLetter) {
		d.Replayed(task.ReplayNote{TaskID: req.Replay, At: req.At, By: req.Task.ID})
	})
	return err
}

// ReplayDone says how one replay of a bulk ended.
type ReplayDone struct {
	ReplayRequest
	Replay  string       `json:"replay,omitempty"` // id of the task that ran it again
	Error   *task.Error  `json:"error,omitempty"`  // nil when it succeeded
	Outcome task.Outcome `json:"outcome,omitempty"`
}

// ReplayResult is the result of one replay of a bulk.
type ReplayResult struct {
	DeadLetter string       `json:"dead_letter"`
	TaskID     string       `json:"task_id"` // that ran it again
	Outcome    task.Outcome `json:"outcome,omitempty"`
}

// EndReplay records how one replay of a bulk ended.
func (a *Activities) EndReplay(ctx context.Context, req ReplayDone) error {
	heart := call.StartHeartbeat(ctx, "recording")
	defer heart.Stop()
	item := task.Item{Index: req.Index, Name: req.Letter, Status: task.ItemFailed, Error: req.Error}
	if item.Error == nil {
		item.Status = task.ItemSucceeded
	}
	if req.Replay != "" {
		var err error
		if item.Result, err = json.Marshal(ReplayResult{req.Letter, req.Replay, req.Outcome}); err != nil {
			return err
		}
	}
	return a.Results.WriteItem(ctx, req.Task, item)
}

// FinishReplaysRequest closes the books of a bulk replay, however it ends.
type FinishReplaysRequest struct {
	Task record.TaskRef `json:"task,omitzero"`
	IDs  []string       `json:"ids,omitempty"`
	Rest *task.Error    `json:"rest,omitempty"` // why those without an outcome have none
}

// ReplaysOutput is the result of a bulk replay.
type ReplaysOutput struct {
	Replays []ReplayOutcome `json:"replays"`
}

// ReplayOutcome is one dead letter of a bulk replay.
type ReplayOutcome struct {
	DeadLetter string          `json:"dead_letter"`
	Status     task.ItemStatus `json:"status"`
	*ReplayResult
	Error *task.Error `json:"error,omitempty"`
}

// FinishReplays writes the list of items and the result of a bulk replay. Run again it writes the same.
func (a *Activities) FinishReplays(ctx context.Context, req FinishReplaysRequest) (results.Finished, error) {
	heart := call.StartHeartbeat(ctx, "storing")
	defer heart.Stop()
	items := make([]task.Item, len(req.IDs))
	for i, id := range req.IDs {
		items[i] = results.Unfinished(i, id, req.Rest)
	}
	finished, err := a.Results.Finalize(ctx, heart, req.Task, items)
	if err != nil {
		return results.Finished{}, err
	}
	output := ReplaysOutput{Replays: []ReplayOutcome{}}
	for _, item := range items {
		outcome := ReplayOutcome{DeadLetter: item.Name, Status: item.Status, Error: item.Error}
		if len(item.Result) > 0 { // also of one that failed again
			if err := json.Unmarshal(item.Result, &outcome.ReplayResult); err != nil {
				return results.Finished{}, fmt.Errorf("result of item %d: %w", item.Index, err)
			}
		}
		output.Replays = append(output.Replays, outcome)
	}
	finished.Result, err = a.Results.WriteResult(ctx, req.Task, output)
	return finished, err
}
