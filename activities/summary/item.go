package summary

import (
	"context"
	"encoding/json"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// SummaryResult is the result of one document of a summary task.
type SummaryResult struct {
	Summary string           `json:"summary"`
	Parts   int              `json:"parts"`             // how many model calls its text took
	Missing []string         `json:"missing,omitempty"` // parts the summary does not cover, and why
	Source  documents.Source `json:"source"`
}

// complete records an item whose last call has been answered. A reader finds it from then on.
func (a *Activities) complete(ctx context.Context, t record.TaskRef, index int, so *results.ItemSoFar, answer call.Answer) error {
	if so == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // it is paid for: a cancel must not keep the task from telling so
	result := SummaryResult{Parts: so.Parts, Missing: so.Missing}
	var err error
	if result.Summary, err = a.Call.Text(ctx, answer.Key); err != nil {
		return err
	}
	if err := a.Bucket.GetJSON(ctx, documents.SourceKey(t, index), &result.Source); err != nil {
		return err
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return err
	}
	calls := so.Calls + answer.Calls
	return a.Results.WriteItem(ctx, t, task.Item{
		Index: index, Status: task.ItemSucceeded, Name: result.Source.Name, Result: encoded,
		Usage: so.Usage.Add(answer.Usage), Attempts: calls, Cached: calls == 0, Model: answer.By, Simulated: answer.Simulated,
	})
}

// FailRequest records an item that failed for good.
type FailRequest struct {
	Task  record.TaskRef `json:"task,omitzero"`
	Group int            `json:"group,omitempty"`
	Index int            `json:"index,omitempty"`
	Error *task.Error    `json:"error,omitempty"`
	Usage task.Usage     `json:"usage,omitzero"`
	Calls int            `json:"calls,omitempty"`
}

// FailItem records the failure of an item, under the name its reader knows it by.
func (a *Activities) FailItem(ctx context.Context, req FailRequest) error {
	heart := call.StartHeartbeat(ctx, "recording")
	defer heart.Stop()
	_, work, err := a.Documents.ManifestEntry(ctx, req.Task, req.Group, req.Index)
	if err != nil {
		return err
	}
	name := work.Label
	var kept documents.Source
	if err := a.Bucket.GetJSON(ctx, documents.SourceKey(req.Task, req.Index), &kept); err == nil {
		name = kept.Name
	} else if file, err := a.Files.Stat(ctx, req.Task.Tenant, work.FileID); err == nil && work.Name == "" {
		name = file.Name
	}
	return a.Results.WriteItem(ctx, req.Task, task.Item{
		Index: req.Index, Status: task.ItemFailed, Name: name, Error: req.Error, Usage: req.Usage, Attempts: req.Calls,
	})
}
