// Package client speaks the HTTP API from the other side: it starts, follows and reads tasks with
// nothing but an address and a key.
//
// Errors are a *task.Error (here *Error) when the server gave one, and *Unreachable when it gave no answer. The
// package prints nothing, keeps nothing between calls and knows no kind of task.
//
// Watch shows how a task is best followed: by its stream of events, which costs nothing while nothing happens; by
// long polls where something on the way keeps streams back; and with patience for a server that restarts.
package client
