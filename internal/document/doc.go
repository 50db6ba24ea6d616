// Package document turns what people call a document into plain Markdown text: it fetches one
// from a public address, reads the text out of it, and cuts that text into chunks for a model.
//
// Documents are hostile until proven otherwise. They are parsed in child processes of the same
// binary that have no environment, little memory and a deadline; whatever a document does to its
// child, the parent goes on and the next document gets a new child.
//
// What may not happen here: no parsing in the parent process, no storage, no model, no Temporal.
// Nothing is retried but a crashed child, once. Passwords, query strings and the text of a document
// never reach an error or a log.
package document
