// Command longhaul is the command line of longhaul: it submits tasks, watches them and brings
// their results. It is a client of the HTTP API and nothing more; it needs an address and a key,
// keeps no state, and must not know Temporal, a bucket or a model.
package main
