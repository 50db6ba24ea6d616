package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Shard is a range of rows of a normalized file, processed by one activity.
type Shard struct {
	From  int   `json:"from"` // index of the first row
	To    int   `json:"to"`   // index after the last row
	Start int64 `json:"start"`
	End   int64 `json:"end"` // byte range [Start, End) in the file
}

// Size limits a shard. A single row over the limit forms a separate shard.
type Size struct {
	Rows  int
	Bytes int64
}

func (s Size) holds(shard Shard) bool {
	return shard.To-shard.From <= s.Rows && shard.End-shard.Start <= s.Bytes
}

// Writer writes normalized rows, one JSON object per line, and records where the file can be split. It keeps 32 bytes
// per piece and a buffer of one row.
type Writer struct {
	out    *bufio.Writer
	size   Size
	pieces []Shard
	end    int64
	line   bytes.Buffer
}

// NewWriter returns a writer with pieces of at most the given size. Pieces should be small, about a tenth of a shard;
// Tail joins them.
func NewWriter(w io.Writer, piece Size) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 64<<10), size: piece}
}

// normal is a row in a normalized file.
type normal struct {
	Index  int             `json:"index"`
	Line   int             `json:"line,omitempty"`
	ID     string          `json:"id,omitempty"`
	Bad    string          `json:"bad,omitempty"`
	Fields json.RawMessage `json:"fields,omitempty"`
}

// Write appends a row. Row indexes must be consecutive from 0.
func (w *Writer) Write(row Row) error {
	if row.Index != w.rows() {
		return fmt.Errorf("row %d written out of order, want row %d", row.Index, w.rows())
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

// cut adds a row to the last piece, or to a new piece.
func (w *Writer) cut(length int64) {
	row := Shard{From: w.rows(), To: w.rows() + 1, Start: w.end, End: w.end + length}
	w.end = row.End
	w.pieces = join(w.pieces, row, w.size)
}

// join merges a piece into the last shard within the size limit, or appends it.
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

// Flush writes buffered rows. All pieces are then in the file.
func (w *Writer) Flush() error { return w.out.Flush() }

// Pieces returns the pieces written so far.
func (w *Writer) Pieces() []Shard { return w.pieces }

// Tail joins pieces to shards of at most the given size. Shards become smaller towards the end: each is at most half
// of what each of width workers still has to do, so that a slow last shard delays the end only briefly. The smallest
// shards are single pieces.
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
		if len(shards) > before { // a new shard begins with this piece
			size = Size{
				Rows:  min(most.Rows, (end.To-pieces[i].From)/share),
				Bytes: min(most.Bytes, (end.End-pieces[i].Start)/int64(share)),
			}
		}
	}
	return shards
}

// Read returns the rows of a shard from its bytes of the normalized file.
func (s Shard) Read(data []byte) ([]Row, error) {
	rows := make([]Row, 0, s.To-s.From)
	for line := range bytes.Lines(data) {
		row, err := denormal(line)
		if err == nil && row.Index != s.From+len(rows) {
			err = fmt.Errorf("found row %d", row.Index)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d of the normalized file: %w", s.From+len(rows), err)
		}
		rows = append(rows, row)
	}
	if len(rows) != s.To-s.From {
		return nil, fmt.Errorf("rows %d to %d of the normalized file: found %d rows", s.From, s.To, len(rows))
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
