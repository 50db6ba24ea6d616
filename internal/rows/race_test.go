//go:build race

package rows_test

// slowdown is by how much the tests of memory do less: the race detector makes them ten times slower.
const slowdown = 10
