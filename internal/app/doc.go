// Package app plugs the parts together: the one place that knows them all.
//
// Each role is a function that runs until its context ends. Only mains and dev use this package,
// and no decision about a task is made here.
package app
