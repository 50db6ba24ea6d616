// Package localtemporal runs the longhaul-temporal program as a child process: it finds or builds the program, starts it,
// restarts it when it exits, and stops it.
//
// Only the all-in-one program and the end-to-end tests use it; in production Temporal runs elsewhere. Nothing here connects
// to Temporal or knows anything else of longhaul: the package imports the standard library alone.
package localtemporal
