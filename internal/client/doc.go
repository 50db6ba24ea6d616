// Package client speaks the HTTP API from the other side: it starts, follows and reads tasks with
// nothing but an address and a key.
//
// Errors are a *task.Error when the server gave one, and *Unreachable when it gave no answer. The
// package prints nothing, keeps nothing between calls and knows no kind of task.
package client
