// Package retrieval finds the passages of texts that a question is about, and checks what is said to be
// quoted from them.
//
// An Index ranks passages in two ways, by their words (BM25) and by vectors that somebody else got, and fuses
// the two rankings by rank. It is built in memory from texts and vectors alone, a second for a million words,
// so any worker can have it and none has to keep it.
//
// Words are ours, not a search library's: those that can be embedded want an index on disk that one process
// owns, and cut Chinese, Japanese and Korean by dictionary or not at all. What is needed here is eighty lines, in
// which a wide character and each pair of neighbours is a term, as a word is elsewhere. Vectors are compared one by
// one: ten thousand of them take some ten milliseconds, so there is nothing for a vector store to save.
//
// Nothing here reads a bucket, asks a model or knows of tasks.
package retrieval
