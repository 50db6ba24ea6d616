// Package rows is the workflow of the kinds generate, classify and embed: it checks a file of rows, works on its shards
// and writes one file of results.
package rows
