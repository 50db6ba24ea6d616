// Package results keeps what tasks produce: item records, the list of items, results, artifacts and dead letters.
// Kinds share it; it knows none of them.
package results

import (
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// Store writes the results of tasks into the bucket. Its activities run on record.QueueDocuments.
type Store struct{ Bucket *storage.Bucket }

// Queues lists the activities by task queue.
func (a *Store) Queues() map[string][]any {
	return map[string][]any{record.QueueDocuments: {a.WriteDeadLetter}}
}
