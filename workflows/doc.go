// Package workflows decides: what a task does next, and what its readers see meanwhile.
//
// kinds.go is the table of kinds. lifecycle.go is what every kind shares: progress, revision,
// cancel, deadline, ending. One file a kind holds its plan. All code here is replayed from history
// by Temporal, so nothing may depend on a clock, a random number, the order of a map, the network
// or a goroutine of Go's own: time, timers and branches come from the workflow package, everything
// else from activities. A change of the plan of a kind must keep recorded histories replaying.
package workflows
