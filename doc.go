// Package longhaul contains no code; it documents the module. Longhaul runs long AI tasks as Temporal workflows behind an HTTP API.
//
// The folders, from the outside in; the doc.go of each says what its code must not do:
//
//	dev        everything on one machine: go run ./dev
//	e2e        the end-to-end tests, which run the programs as processes
//	api        the HTTP API; worker runs the tasks; starter is the command line
//	workflows  deterministic workflow code, one folder for each kind of task
//	activities everything with side effects, one folder for each kind of task
//	internal   the packages that these use: llm, document, storage, engine, cluster, config, task and others
//	temporal   a separate module: the Temporal server that dev starts as a child process
//
// Tests in this folder check which folder may import which.
package longhaul
