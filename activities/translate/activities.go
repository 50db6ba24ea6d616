// Package translate holds the activities of the kind translate: its input, its plan, its prompt and its results.
package translate

import (
	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// Activities are the activities of the kind.
type Activities struct {
	Bucket    *storage.Bucket
	Call      *call.Caller
	Documents *documents.Library
	Results   *results.Store
}

// New builds the activities of the kind.
func New(p activities.Parts) activities.Queued {
	return &Activities{Bucket: p.Bucket, Call: p.Call, Documents: p.Documents, Results: p.Results}
}

// Queues lists the activities by task queue.
func (a *Activities) Queues() map[string][]any {
	return map[string][]any{
		record.QueueDocuments: {a.PlanTranslation, a.StoreTranslation, a.FinishTranslation},
		record.QueueLLM:       {a.TranslatePart},
	}
}
