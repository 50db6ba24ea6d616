package rows

import (
	"maps"
	"slices"
)

// MaxRowBytes is the maximum size of a row.
const MaxRowBytes = maxRowBytes

// Within returns the options with smaller limits; 0 means the default.
func (o ReadOptions) Within(rowBytes, rows int) ReadOptions {
	o.rowBytes, o.rows = rowBytes, rows
	return o
}

// Keys returns the keys that have a record, sorted.
func (j *Journal) Keys() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Sorted(maps.Keys(j.records))
}
