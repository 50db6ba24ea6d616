// Package app wires the parts of longhaul together and runs them as roles: API and worker.
//
// A role is a function that runs until its context ends. Only the main packages import app, and app makes no decision about a task.
package app
