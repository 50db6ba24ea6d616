// Package workflows is the table of kinds. One folder a kind holds its workflow; lifecycle and documents hold what the
// kinds share.
//
// All code below this folder is replayed from history by Temporal, so nothing in it may depend on a clock, a random
// number, the order of a map, the network or a goroutine: time, timers and branches come from the workflow package,
// everything else from activities. A change must keep recorded histories replaying.
package workflows
