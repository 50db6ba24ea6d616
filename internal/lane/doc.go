// Package lane is the admission gate in front of one provider key.
//
// A lane holds what a key may do: so many calls at a time, so many requests and tokens a minute. A
// call waits in it for its turn, fair among tenants and among the tasks of each, and tells it how it came out. A provider that
// says "later" closes the lane for every call, not for one; it reopens gently. Nothing here talks to a
// provider or to Temporal, and nothing waits longer than it was allowed to: a caller that would have
// to is told until when, and leaves.
package lane
