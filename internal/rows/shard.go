package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Shard is neighbouring rows of a normalised file, which one activity works on.
type Shard struct {
	From  int   `json:"from"` // index of its first row
	To    int   `json:"to"`   // index after its last row
	Start int64 `json:"start"`
	End   int64 `json:"end"` // the bytes from Start up to End are its rows
}

// Size is how much a shard may hold. A row that is larger alone is a shard of its own.
type Size struct {
	Rows  int
	Bytes int64
}

func (s Size) holds(shard Shard) bool {
	return shard.To-shard.From <= s.Rows && shard.End-shard.Start <= s.Bytes
}

// Writer writes normalised rows, one JSON object a line, and notes where they can be cut. It keeps 32 bytes a piece
// and a buffer of one row.
type Writer struct {
	out    *bufio.Writer
	size   Size
	pieces []Shard
	end    int64
	line   bytes.Buffer
}

// NewWriter gives a writer whose pieces are of at most a size. Pieces should be small, about a tenth of a shard: Tail
// joins them.
func NewWriter(w io.Writer, piece Size) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 64<<10), size: piece}
}

// normal is a row as a normalised file holds it.
type normal struct {
	Index  int             `json:"index"`
	Line   int             `json:"line,omitempty"`
	ID     string          `json:"id,omitempty"`
	Bad    string          `json:"bad,omitempty"`
	Fields json.RawMessage `json:"fields,omitempty"`
}

// Write appends a row. Rows come in the order of their index, from 0, without a gap.
func (w *Writer) Write(row Row) error {
	if row.Index != w.rows() {
		return fmt.Errorf("row %d written after %d rows", row.Index, w.rows())
	}
	w.line.Reset()
	encoder := json.NewEncoder(&w.line)
	encoder.SetEscapeHTML(false)
	fields := row.Fields
	if row.Bad != "" {
		fields = nil
	}
	err := encoder.Encode(struct {
		normal
		Fields map[string]any `json:"fields,omitempty"`
	}{normal{Index: row.Index, Line: row.Line, ID: row.ID, Bad: row.Bad}, fields})
	if err != nil {
		return fmt.Errorf("encode row %d: %w", row.Index, err)
	}
	if _, err := w.out.Write(w.line.Bytes()); err != nil {
		return fmt.Errorf("write row %d: %w", row.Index, err)
	}
	w.cut(int64(w.line.Len()))
	return nil
}

func (w *Writer) rows() int {
	if len(w.pieces) == 0 {
		return 0
	}
	return w.pieces[len(w.pieces)-1].To
}

// cut puts a row into the last piece, or a new one.
func (w *Writer) cut(length int64) {
	row := Shard{From: w.rows(), To: w.rows() + 1, Start: w.end, End: w.end + length}
	w.end = row.End
	w.pieces = join(w.pieces, row, w.size)
}

// join puts a piece into the last shard if that stays within a size, or else after it.
func join(shards []Shard, piece Shard, size Size) []Shard {
	if n := len(shards); n > 0 {
		joined := Shard{From: shards[n-1].From, To: piece.To, Start: shards[n-1].Start, End: piece.End}
		if size.holds(joined) {
			shards[n-1] = joined
			return shards
		}
	}
	return append(shards, piece)
}

// Flush writes what is buffered. The pieces before it are then all in the file.
func (w *Writer) Flush() error { return w.out.Flush() }

// Pieces gives the pieces of what was written.
func (w *Writer) Pieces() []Shard { return w.pieces }

// Tail joins pieces to shards of at most a size, which become smaller towards the end: none is more than half of
// what each of width workers has left to do. So a slow shard at the end keeps a run from ending for a short time
// only. The smallest are single pieces.
func Tail(pieces []Shard, most Size, width int) []Shard {
	if len(pieces) == 0 {
		return nil
	}
	end := pieces[len(pieces)-1]
	share := 2 * max(width, 1)
	var shards []Shard
	size := most
	for i, piece := range pieces {
		before := len(shards)
		shards = join(shards, piece, size)
		if len(shards) > before { // a new one begins with this piece
			size = Size{
				Rows:  min(most.Rows, (end.To-pieces[i].From)/share),
				Bytes: min(most.Bytes, (end.End-pieces[i].Start)/int64(share)),
			}
		}
	}
	return shards
}

// Read gives the rows of a shard from its bytes of the normalised file.
func (s Shard) Read(data []byte) ([]Row, error) {
	rows := make([]Row, 0, s.To-s.From)
	for line := range bytes.Lines(data) {
		row, err := denormal(line)
		if err == nil && row.Index != s.From+len(rows) {
			err = fmt.Errorf("it is row %d", row.Index)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d of the normalised file: %w", s.From+len(rows), err)
		}
		rows = append(rows, row)
	}
	if len(rows) != s.To-s.From {
		return nil, fmt.Errorf("rows %d to %d of the normalised file: there are %d", s.From, s.To, len(rows))
	}
	return rows, nil
}

func denormal(line []byte) (Row, error) {
	var n normal
	if err := json.Unmarshal(line, &n); err != nil {
		return Row{}, err
	}
	row := Row{Index: n.Index, Line: n.Line, ID: n.ID, Bad: n.Bad}
	if n.Bad == "" {
		row.Fields = map[string]any{}
	}
	if n.Fields == nil {
		return row, nil
	}
	return row, members(n.Fields, func(name string, value []byte) error {
		row.Fields[name] = valueOf(value)
		return nil
	})
}
