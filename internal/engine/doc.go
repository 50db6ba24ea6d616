// Package engine is the one holder of a Temporal client for those who start and read tasks.
//
// It turns drafts into workflows and workflows into tasks, and Temporal's errors into ours. It reads
// by Describe, visibility and history only, never by query, so every answer is there with all
// workers down. It does not run workflow or activity code, and knows nothing of HTTP.
package engine
