//go:build !race

package rows_test

const slowdown = 1
