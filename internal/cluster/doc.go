// Package cluster is the way to a Temporal: the connection, what must be true of a namespace before
// longhaul can use it, and the bucket as the place of payloads that are too big for Temporal.
//
// Where Temporal is, and how to log in there, is said by the Temporal SDK's own TEMPORAL_*
// variables. Nothing here knows tasks, kinds or workflows: what is searched for is told by the
// caller, and starting or reading workflows belongs to internal/engine.
package cluster
