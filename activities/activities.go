package activities

import (
	"context"
	"io"
	"log/slog"

	"longhaul/internal/document"
	"longhaul/internal/retrieval"
	"longhaul/internal/router"
	"longhaul/internal/rows"
	"longhaul/internal/storage"
)

// The task queues. Pools behind them scale and time out separately.
const (
	QueueWorkflows = "longhaul-workflows" // decisions
	QueueLLM       = "longhaul-llm"       // model calls; those of a provider beside the first have a queue of their own
	QueueTools     = "longhaul-tools"     // tool calls of agents
	QueueVideo     = "longhaul-video"     // jobs of videos, and their downloads
	QueueDocuments = "longhaul-documents" // fetching and reading documents, and keeping records
	QueueNotify    = "longhaul-notify"    // telling others how tasks go
)

// Activities holds what the activities work with. All exported fields are needed but Meter, which may be nil.
type Activities struct {
	Bucket        *storage.Bucket
	Ledger        storage.Ledger
	Files         storage.Files
	Router        *router.Router // who is asked for a model
	Embedding     string         // the model for vectors
	Videos        Videos         // who renders videos
	Tools         Toolbox        // of agents
	Inputs        Inputs         // of tasks that agents start
	Reader        Reader
	Fetcher       Fetcher
	Scratch       string // a local folder for documents while they are read
	ChunkTokens   int    // the most tokens of text in one model call
	ContextTokens int    // the most tokens of a conversation; a longer one is compacted
	MaxAttempts   int    // how often a failing model call is made; waiting for a rate limit is not failing
	Meter         Meter
	Log           *slog.Logger

	Indexes *retrieval.Cache
	plans   rowPlans
	pace    rows.Pace // of the journals of rows
	endings endings
}

// Reader gets text out of a document on disk: document.Extractor.
type Reader interface {
	Extract(ctx context.Context, in document.Input, progress func(done, total int)) (document.Text, error)
}

// Fetcher gets a document from an address: document.Fetcher.
type Fetcher interface {
	Fetch(ctx context.Context, address string, w io.Writer) (document.Fetched, error)
}

// Task says for which task an activity works.
type Task struct {
	ID      string
	Tenant  string
	Lineage string // where paid answers are looked up: the id of the first of the tasks that share them
	Model   string // "" means the default
	Queue   string // of its model calls; "" means QueueLLM
	Before  string `json:",omitempty"` // the task that this one runs again; "" for none
	Keep    *Kept  `json:",omitempty"` // whose succeeded items are kept; nil for none
}
