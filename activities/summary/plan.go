package summary

import (
	"context"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Plan is how a batch of documents is worked on. It is small: 5,000 documents are about 30 KB.
type Plan struct {
	Documents int               `json:"documents,omitempty"`
	Groups    []documents.Group `json:"groups,omitempty"`
	Digest    bool              `json:"digest,omitempty"`
	FanIn     int               `json:"fan_in,omitempty"` // how many summaries are combined in one call
}

// PlanSummary groups the documents of a task by size and writes a manifest for each group. A retry writes the same.
func (a *Activities) PlanSummary(ctx context.Context, req record.PlanRequest) (Plan, error) {
	heart := call.StartHeartbeat(ctx, "planning")
	defer heart.Stop()
	var in task.SummaryInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return Plan{}, err
	}
	kept, err := a.Results.KeepItems(ctx, req.Task, len(in.Documents))
	if err != nil {
		return Plan{}, err
	}
	style := documents.Style{Instructions: in.Instructions, Language: in.Language, Words: in.Words}
	groups, err := a.Documents.Plan(ctx, req.Task, in.Documents, style, kept)
	return Plan{Documents: len(in.Documents), Groups: groups, Digest: in.Digest, FanIn: fanIn(in.Words)}, err
}

// fanIn is how many summaries of so many words fit into one call: about 8,000 tokens, at two tokens a word to be safe in
// any language.
func fanIn(words int) int { return min(max(8000/(2*words), 2), 20) }
