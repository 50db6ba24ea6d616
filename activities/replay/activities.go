// Package replay holds the activities of the kind replay: which dead letters are replayed, and what became of each.
package replay

import (
	"longhaul/activities"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/storage"
)

// Activities are the activities of the kind.
type Activities struct {
	Bucket  *storage.Bucket
	Router  *router.Router
	Kinds   activities.Kinds
	Results *results.Store
}

// New builds the activities of the kind.
func New(p activities.Parts) activities.Queued {
	return &Activities{Bucket: p.Bucket, Router: p.Call.Router, Kinds: p.Kinds, Results: p.Results}
}

// Queues lists the activities by task queue.
func (a *Activities) Queues() map[string][]any {
	return map[string][]any{
		record.QueueDocuments: {a.PlanReplays, a.PrepareReplay, a.NoteReplay, a.EndReplay, a.FinishReplays},
	}
}
