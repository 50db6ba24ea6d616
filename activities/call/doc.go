// Package call makes paid model calls: it looks the answer up in the ledger, waits for a turn in the lane, sends
// the request, records the answer and says what a failure means for the next attempt. It also holds what every
// activity needs: heartbeats and the retry policy. It knows no kind of task.
package call
