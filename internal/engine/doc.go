// Package engine starts, reads and cancels tasks: the API's side of Temporal.
//
// It turns drafts into workflows, workflows into tasks, and Temporal's errors into task.Error. It reads by Describe, visibility and
// history, never by query, so reads need no worker. It runs no workflow or activity code and knows nothing of HTTP.
package engine
