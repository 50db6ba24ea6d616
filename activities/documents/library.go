// Package documents fetches documents and turns them into text: manifests say which document is where, texts are
// cut into parts of a model's size. Kinds share it; it knows none of them.
package documents

import (
	"context"
	"io"

	"longhaul/activities/results"
	"longhaul/internal/document"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// Library reads the documents of tasks. Its activities run on record.QueueDocuments.
type Library struct {
	Bucket      *storage.Bucket
	Files       storage.Files
	Results     *results.Store
	Reader      Reader
	Fetcher     Fetcher
	Scratch     string // a local folder for documents while they are read
	ChunkTokens int    // most tokens of text in one model call
}

// Reader gets text out of a document on disk: document.Extractor.
type Reader interface {
	Extract(ctx context.Context, in document.Input, progress func(done, total int)) (document.Text, error)
}

// Fetcher downloads a document: document.Fetcher.
type Fetcher interface {
	Fetch(ctx context.Context, address string, w io.Writer) (document.Fetched, error)
}

// Queues lists the activities by task queue.
func (a *Library) Queues() map[string][]any {
	return map[string][]any{record.QueueDocuments: {a.PlanDocuments, a.FetchDocument, a.ReadDocuments, a.HalvePart, a.FailItem}}
}
