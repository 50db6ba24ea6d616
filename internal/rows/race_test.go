//go:build race

package rows_test

// slowdown reduces the size of memory tests, because the race detector makes them ten times slower.
const slowdown = 10
