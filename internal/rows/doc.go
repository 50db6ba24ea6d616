// Package rows is the basis of the kinds that process a file row by row: reading rows, templates, shards, the journal
// of paid answers, and result files.
//
// Everything is streamed, so the length of a file does not matter. Reading takes about 300 KiB, up to six copies of
// one row (at most 16 MiB) including writing it, and 40 bytes per row with an id. A Writer keeps 32 bytes per piece,
// an output one row, Parquet one row group of about 16 MiB of values. Only a Journal holds all of its content: the
// records of one shard.
//
// An error in one row is reported in Row.Bad with its line; an error in the whole file is a *task.Error. Values are
// kept unchanged: a number keeps its digits, an object or array its JSON text.
//
// This package calls no model, knows nothing of Temporal, and accesses a bucket only through a Store.
package rows
