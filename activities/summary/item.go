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
