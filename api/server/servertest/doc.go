// Package servertest holds an API over tasks in memory, for tests of the server and of its
// clients. Nothing but tests may import it.
package servertest
