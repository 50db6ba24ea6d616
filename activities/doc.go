// Package activities holds everything that touches the outside world for a workflow, one folder a kind, and what
// the kinds share: call, documents and results.
//
// An activity takes one value and returns one, with references into the bucket instead of documents and answers.
// It may run more than once: after a crash between the work and its report, Temporal runs it again. So writes are
// idempotent and paid calls go through the ledger. Nothing here decides what comes next: workflows do.
package activities
