// Package rows is what the kinds that work on a file row by row stand on: reading rows from whatever people send,
// templates, shards, the journal of what was paid for, and files of results.
//
// Everything is a stream, so how long a file is does not matter. Reading takes some 300 KiB, one row (of 16 MiB at most)
// in some six copies with writing it, and 40 bytes for each row that has an id. A writer of shards keeps 32 bytes a piece, an
// output one row, and Parquet one row group of some 16 MiB of values. Only a Journal holds all it knows: the records of one shard.
//
// A fault of one row is the row's (Row.Bad), with its line; a fault of the file as a whole is a *task.Error.
// Values are kept as they came: a number keeps its digits, an object or an array its text.
//
// What may not happen here: no model is asked, nothing of Temporal is known, and no bucket but through a Store.
package rows
