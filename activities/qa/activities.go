// Package qa holds the activities of the kind qa: its passages and vectors, its prompts, its model calls and its report.
package qa

import (
	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/storage"
)

// Activities are the activities of the kind.
type Activities struct {
	Bucket    *storage.Bucket
	Embedding string // the model for vectors
	Indexes   *retrieval.Cache
	Call      *call.Caller
	Documents *documents.Library
	Results   *results.Store
}

// New builds the activities of the kind.
func New(p activities.Parts) activities.Queued {
	return &Activities{Bucket: p.Bucket, Embedding: p.Embedding, Indexes: p.Indexes, Call: p.Call, Documents: p.Documents, Results: p.Results}
}

// Queues lists the activities by task queue.
func (a *Activities) Queues() map[string][]any {
	return map[string][]any{
		record.QueueDocuments: {a.OpenLibrary, a.FailQuestion, a.FinishQA},
		record.QueueLLM:       {a.EmbedPassages, a.EmbedQuestions, a.AnswerQuestion, a.SearchPart, a.CombineFindings},
	}
}
