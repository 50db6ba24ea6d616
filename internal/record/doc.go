// Package record holds what Temporal and the bucket keep of a task: facts, snapshots, workflow inputs, heartbeat
// details, and the names they are stored under. A stored name is a contract with tasks in flight: the golden files
// in testdata fail when one changes. The package knows nothing but the words of internal/task.
package record
