// Package task holds the words of longhaul: task, state, item, progress, usage, error.
//
// It is the bottom of the house. Every other room may use these words; this one uses
// nothing but the standard library, and it touches nothing: no clock, no file, no network.
// The JSON tags are the public API: a rename here is a breaking change for every client.
package task
