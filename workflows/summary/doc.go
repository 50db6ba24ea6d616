// Package summary is the workflow of the kind summary: documents are planned in groups, a child workflow summarises each
// group, and a digest is written over all if asked.
package summary
