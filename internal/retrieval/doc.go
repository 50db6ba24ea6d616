// Package retrieval finds the passages of texts that are relevant to a question, and verifies quotes from them.
//
// An Index ranks passages by BM25 and by vectors computed elsewhere, and fuses both rankings by rank. It is built in
// memory from texts and vectors alone, in about a second per million words, so any worker can rebuild it.
//
// The term index is our own: embeddable search libraries need an index on disk owned by one process, and split
// Chinese, Japanese and Korean by dictionary or not at all. Here each wide character and each pair of neighbours is a
// term. Vectors are compared one by one; ten thousand take about 10 ms, so a vector store would save nothing.
//
// This package reads no bucket, calls no model and knows nothing of tasks.
package retrieval
