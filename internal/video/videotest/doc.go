// Package videotest is a provider of videos for tests: it speaks the dialects of Ark and of relays over real
// sockets, lets each job go as it is told to, misbehaves exactly so, and keeps a journal of every call.
//
// How a job goes is chosen by a marker in its prompt (On); any other is queued, runs and succeeds, a step with
// each poll, with a video that is made of a hash of its prompt (Film). A job goes on by being polled and by
// nothing else, so tests need no clock. Waiting for something to happen is done with Wait, never by sleeping.
//
// It is for tests, benchmarks and end-to-end drivers only: no program of the product imports it, and it never
// makes a request of its own.
package videotest
