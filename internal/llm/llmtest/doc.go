// Package llmtest is a model provider for tests: it speaks the OpenAI wire of chat and embeddings over
// real sockets, misbehaves exactly as it is told to, and keeps a journal of every call.
//
// What to answer is chosen by a marker in the prompt (On) or by a function (Handle); anything else
// gets a good answer whose text holds a hash of its prompt, so that results can be matched to what
// was asked. Waiting for something to happen is done with Wait and its like, never by sleeping.
//
// It is for tests, benchmarks and end-to-end drivers only: no program of the product imports it,
// and it never makes a request of its own.
package llmtest
