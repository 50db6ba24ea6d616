// Package documents fetches and reads the documents of a task, for the kinds that need them.
package documents
