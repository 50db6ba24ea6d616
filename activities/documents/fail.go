package documents

import (
	"context"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// FailRequest asks to record that a document failed for good.
type FailRequest struct {
	Task  record.TaskRef `json:"task,omitzero"`
	Group int            `json:"group,omitempty"`
	Index int            `json:"index,omitempty"`
	Error *task.Error    `json:"error,omitempty"`
	Usage task.Usage     `json:"usage,omitzero"`
	Calls int            `json:"calls,omitempty"`
}

// FailItem records the failure of a document under the name that the client knows the document by. A retry writes the same
// again.
func (a *Library) FailItem(ctx context.Context, req FailRequest) error {
	heart := call.StartHeartbeat(ctx, "recording")
	defer heart.Stop()
	_, entry, err := a.ManifestEntry(ctx, req.Task, req.Group, req.Index)
	if err != nil {
		return err
	}
	name := entry.Label
	var source Source
	if err := a.Bucket.GetJSON(ctx, SourceKey(req.Task, req.Index), &source); err == nil {
		name = source.Name
	} else if file, err := a.Files.Stat(ctx, req.Task.Tenant, entry.FileID); err == nil && entry.Name == "" {
		name = file.Name
	}
	return a.Results.WriteItem(ctx, req.Task, task.Item{
		Index: req.Index, Status: task.ItemFailed, Name: name, Error: req.Error, Usage: req.Usage, Attempts: req.Calls,
	})
}
