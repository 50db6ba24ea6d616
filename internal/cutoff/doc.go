// Package cutoff frees the slot of an activity that does not return after its context has ended.
//
// Go cannot stop a goroutine: a tool or a parser that ignores its context would occupy its slot, and a
// slot of its tenant, forever. Here the activity runs in its own goroutine. If it does not return within a
// grace period after the end of its context, the slot is freed and the attempt fails; a later result is
// dropped. This package knows nothing of what an activity does, and retries nothing.
package cutoff
