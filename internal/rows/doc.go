// Package rows is what the kinds that work on a file row by row stand on: reading rows from whatever people send,
// templates, shards, the journal of what was paid for, and files of results.
//
// Everything is a stream. Reading holds one row, of at most MaxRowBytes, in at most four copies, and 40 bytes for each
// row that has an id; writing holds one row, or one row group of a Parquet file. How long the file is does not matter.
//
// A fault of one row is the row's (Row.Bad), with its line; a fault of the file as a whole is a *task.Error.
// Values are kept as they came: a number keeps its digits, an object or an array its text.
//
// What may not happen here: no model is asked, nothing of Temporal is known, and no bucket but through a Store.
package rows
