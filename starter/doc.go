// Command longhaul is the command line of longhaul: it submits tasks, watches them and fetches their results. It uses the package
// client and nothing else of this module: it needs an address and a key, keeps no state, and does not know Temporal, buckets or
// models.
package main
