// Package activities does: every touch of the outside world that a workflow asks for.
//
// A method of Activities is an activity of the same name. Each takes one value and gives one, with
// references into the bucket instead of documents and answers, and each may run more than once: a
// crash after the work and before Temporal heard of it brings it back. So writes are idempotent and
// paid calls go through the ledger. Nothing here decides what comes next: that is for workflows.
package activities
