package rows

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Limits of a row group, which is held in memory: rows, or bytes of values. The last row may exceed them.
const (
	groupRows  = 10_000
	groupBytes = 16 << 20
)

// Parquet writes a Parquet file with the columns index (int64), id (optional text), the given columns (optional text;
// other values are JSON), and optionally vector (optional list of float32). Readers see the columns in alphabetical
// order. It holds one row group in memory.
type Parquet struct {
	out     *parquet.GenericWriter[any]
	columns []column
	vector  int // leaf index of the vectors; -1 without vectors
	rows    int // rows and bytes in the current row group
	bytes   int
	err     error // error of NewParquet
}

// column is a text leaf.
type column struct {
	name string
	leaf int
}

// NewParquet returns a writer of a Parquet file with the given text columns and, if asked for, vectors.
func NewParquet(w io.Writer, columns []string, vectors bool) *Parquet {
	p := &Parquet{vector: -1}
	group := parquet.Group{"index": parquet.Leaf(parquet.Int64Type), "id": parquet.Optional(parquet.String())}
	for _, name := range columns {
		if reserved(name) || group[name] != nil {
			p.err = fmt.Errorf("the column %q appears twice or is reserved", name)
			continue
		}
		group[name] = parquet.Optional(parquet.String())
	}
	if vectors {
		floats := parquet.Compressed(parquet.Leaf(parquet.FloatType), &parquet.Uncompressed)
		group["vector"] = parquet.Optional(parquet.List(floats))
	}
	schema := parquet.NewSchema("rows", group)
	for i, path := range schema.Columns() {
		switch path[0] {
		case "vector":
			p.vector = i
		default:
			p.columns = append(p.columns, column{path[0], i})
		}
	}
	p.out = parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Snappy))
	return p
}

// Row implements Output.
func (p *Parquet) Row(r Result) error {
	if p.err == nil {
		p.err = p.fits(r)
	}
	if p.err != nil {
		return p.err
	}
	row := make(parquet.Row, 0, len(p.columns)+max(len(r.Vector), 1))
	for _, c := range p.columns {
		row = append(row, p.value(r, c))
	}
	row = p.appendVector(row, r.Vector)
	slices.SortStableFunc(row, func(a, b parquet.Value) int { return a.Column() - b.Column() })
	if _, err := p.out.WriteRows([]parquet.Row{row}); err != nil {
		return fmt.Errorf("write row %d: %w", r.Index, err)
	}
	p.rows++
	if p.rows < groupRows && p.bytes < groupBytes {
		return nil
	}
	p.rows, p.bytes = 0, 0
	return p.out.Flush()
}

func (p *Parquet) fits(r Result) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Vector != nil && p.vector < 0 {
		return fmt.Errorf("row %d: the file has no column for the vector", r.Index)
	}
	for name := range r.Values {
		if !slices.ContainsFunc(p.columns, func(c column) bool { return c.name == name }) {
			return fmt.Errorf("row %d: the file has no column %q", r.Index, name)
		}
	}
	return nil
}

// value returns the value of a row in a text column.
func (p *Parquet) value(r Result, c column) parquet.Value {
	text, there := r.ID, r.ID != ""
	switch c.name {
	case "index":
		return parquet.Int64Value(int64(r.Index)).Level(0, 0, c.leaf)
	case "id":
	default:
		value := r.Values[c.name]
		text, there = plainText(value), value != nil
	}
	if !there {
		return parquet.NullValue().Level(0, 0, c.leaf)
	}
	p.bytes += len(text)
	return parquet.ByteArrayValue([]byte(text)).Level(0, 1, c.leaf)
}

// appendVector encodes a vector: a null list has definition level 0, an empty list 1.
func (p *Parquet) appendVector(row parquet.Row, vector []float32) parquet.Row {
	switch {
	case p.vector < 0:
		return row
	case vector == nil:
		return append(row, parquet.NullValue().Level(0, 0, p.vector))
	case len(vector) == 0:
		return append(row, parquet.NullValue().Level(0, 1, p.vector))
	}
	p.bytes += 4 * len(vector)
	for i, number := range vector {
		row = append(row, parquet.FloatValue(number).Level(min(i, 1), 2, p.vector))
	}
	return row
}

// Close implements Output.
func (p *Parquet) Close() error {
	if p.err != nil {
		return p.err
	}
	return p.out.Close()
}
