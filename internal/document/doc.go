// Package document fetches documents from public addresses, extracts their text as Markdown, and splits the text into
// chunks for a model.
//
// Documents are untrusted input. Child processes of the same binary parse them, with an empty environment, a memory
// limit and a deadline. A document that crashes its child does not affect the parent; the next document gets a new
// child.
//
// The parent process never parses a document. This package knows nothing of storage, models or Temporal. Only a
// crashed child is retried, once. Passwords, query strings and document text never appear in an error or a log.
package document
