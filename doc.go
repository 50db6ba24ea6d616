// Package longhaul holds no code: it is the front door of the module. Longhaul runs long AI tasks as
// Temporal workflows behind an HTTP API.
//
// The rooms, from the outside in; each says in its doc.go what may not happen there:
//
//	dev        everything on one machine: go run ./dev
//	e2e        the end-to-end tests, which run the programs as processes
//	api        the HTTP API; worker runs the tasks; starter is the command line
//	workflows  decide: deterministic, one file for each kind of task
//	activities do: every touch of the outside world
//	internal   what these are made of: llm, document, storage, engine, cluster, config, task
//	temporal   a module of its own: the Temporal server that dev starts as a child process
//
// The directions of import between them are tests in this folder.
package longhaul
