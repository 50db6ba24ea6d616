// Package cluster connects to Temporal, prepares its namespace, and stores payloads that are too large for
// Temporal in the bucket.
//
// The address and the credentials come from the Temporal SDK's TEMPORAL_* variables. This package knows
// nothing of tasks, kinds or workflows: the caller names the search attributes, and internal/engine starts
// and reads workflows.
package cluster
