package rows

import (
	"maps"
	"slices"
)

// MaxRowBytes is how large a row may be.
const MaxRowBytes = maxRowBytes

// Within are the same options for files with smaller limits; 0 is the usual one.
func (o ReadOptions) Within(rowBytes, rows int) ReadOptions {
	o.rowBytes, o.rows = rowBytes, rows
	return o
}

// Keys are those that have a record, in order.
func (j *Journal) Keys() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Sorted(maps.Keys(j.records))
}
