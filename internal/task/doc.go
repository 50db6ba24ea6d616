// Package task defines the terms of longhaul: task, state, item, progress, usage, error.
//
// All other packages may import it; it imports only the standard library and has no side effects: it
// reads no clock, no file and no network. The JSON tags are the public API: renaming one breaks every client.
package task
