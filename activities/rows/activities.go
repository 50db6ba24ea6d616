// Package rows holds the activities of the kinds generate, classify and embed: checking a file of rows, working on
// its shards, and writing the results.
package rows

import (
	"log/slog"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/rows"
	"longhaul/internal/storage"
)

// Activities are the activities of the kinds.
type Activities struct {
	Bucket    *storage.Bucket
	Files     storage.Files
	Fetcher   documents.Fetcher
	Embedding string // the model for vectors
	Call      *call.Caller
	Results   *results.Store
	Log       *slog.Logger

	plans planCache
	pace  rows.Pace // of writes to the journals
}

// New builds the activities of the kinds.
func New(p activities.Parts) activities.Queued {
	return &Activities{
		Bucket: p.Bucket, Files: p.Files, Fetcher: p.Documents.Fetcher, Embedding: p.Embedding, Call: p.Call, Results: p.Results, Log: p.Log,
	}
}

// Queues lists the activities by task queue.
func (a *Activities) Queues() map[string][]any {
	return map[string][]any{
		record.QueueDocuments: {a.FetchRows, a.PlanRows, a.FinishRows},
		record.QueueLLM:       {a.RunRows},
	}
}
