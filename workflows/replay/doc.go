// Package replay is the workflow of the kind replay: it runs dead letters again, a few first and the others at a rate.
package replay
