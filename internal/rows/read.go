package rows

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"mime"

	"longhaul/internal/task"
)

const (
	// maxRowBytes is how large a row may be.
	maxRowBytes = 16 << 20
	// maxRows is how many rows a file may have.
	maxRows = 5_000_000
	// maxID is how long an id may be, in bytes.
	maxID = 512
)

// Row is one row of an input, good or bad. A line of an OpenAI batch has the fields of its body.
type Row struct {
	Index  int            // from 0, over all rows, bad ones too
	Line   int            // of the file, from 1, where it begins; 0 when it came inline
	ID     string         // the input's own: its field "id" or "custom_id"; "" when it has none
	Fields map[string]any // by column: string, json.Number, bool, nil, or a json.RawMessage for objects and arrays. A text alone is {"text": …}
	Bad    string         // why it is no row; "" is good
}

// ReadOptions say what is known of a file. The zero value finds everything out.
type ReadOptions struct {
	Format      Format            // "": by content type, name and first bytes
	Name        string            // of the file
	ContentType string            // as it was sent, with its charset
	Columns     map[string]string // by their name, ours

	rowBytes, rows int // limits of tests; 0: maxRowBytes, maxRows
}

// Read gives the rows of a file to visit, in order, and stops at the first error of visit. A file without rows, with more than
// maxRows, or of a form that gives no rows at all is a *task.Error; rows before the fault have then been visited.
func Read(ctx context.Context, in io.Reader, opts ReadOptions, visit func(Row) error) error {
	_, params, _ := mime.ParseMediaType(opts.ContentType) // what cannot be read declares nothing
	text := newDecoder(in, params["charset"])
	r := newReader(ctx, opts, visit)
	r.text, r.in = text, bufio.NewReaderSize(text, 64<<10)
	format, err := r.format()
	if err != nil {
		return err
	}
	switch format {
	case CSV, TSV:
		err = r.table(format)
	case JSON:
		err = r.array()
	case JSONL:
		err = r.lines()
	default:
		return task.Errorf(task.Invalid, "the format %q is not known; known: jsonl, json, csv, tsv", format)
	}
	return r.end(err)
}

// ReadInline does the same with rows that came in the request.
func ReadInline(ctx context.Context, rows []json.RawMessage, opts ReadOptions, visit func(Row) error) error {
	r := newReader(ctx, opts, visit)
	for _, raw := range rows {
		row := Row{}
		if row.Bad = r.tooLong(len(raw)); row.Bad == "" {
			r.fill(&row, raw)
		}
		if err := r.emit(row); err != nil {
			return err
		}
	}
	return r.end(nil)
}

// reader reads one file.
type reader struct {
	ctx   context.Context
	opts  ReadOptions
	visit func(Row) error
	text  *decoder
	in    *bufio.Reader // of text
	line  int           // that is read now
	index int           // of the next row

	seed maphash.Seed
	ids  map[uint64]int32 // by hash, where an id was used first. That one of a million ids is taken for another's has a chance of one in thirty million
}

func newReader(ctx context.Context, opts ReadOptions, visit func(Row) error) *reader {
	opts.rowBytes, opts.rows = cmp.Or(opts.rowBytes, maxRowBytes), cmp.Or(opts.rows, maxRows)
	return &reader{ctx: ctx, opts: opts, visit: visit, seed: maphash.MakeSeed(), ids: map[uint64]int32{}}
}

// emit numbers a row and hands it over.
func (r *reader) emit(row Row) error {
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	if r.index >= r.opts.rows {
		return task.Errorf(task.TooLarge, "there are more than %d rows, the limit of one task; send them as several", r.opts.rows)
	}
	row.Index = r.index
	r.index++
	if row.Bad == "" {
		row.Bad = r.twice(row)
	}
	if row.Bad != "" {
		row.Fields = nil
	}
	return r.visit(row)
}

// twice says where the id of a row was used before; "" when it was not.
func (r *reader) twice(row Row) string {
	if row.ID == "" {
		return ""
	}
	if len(row.ID) > maxID {
		return fmt.Sprintf("its id has %d bytes; at most %d are allowed", len(row.ID), maxID)
	}
	place, what := row.Line, "line"
	if place == 0 {
		place, what = row.Index, "row"
	}
	hash := maphash.String(r.seed, row.ID)
	if first, used := r.ids[hash]; used {
		return fmt.Sprintf("the id %q was used in %s %d", row.ID, what, first)
	}
	r.ids[hash] = int32(min(place, 1<<31-1))
	return ""
}

func (r *reader) tooLong(length int) string {
	if length <= r.opts.rowBytes {
		return ""
	}
	return fmt.Sprintf("the row has %d bytes; at most %d are allowed", length, r.opts.rowBytes)
}

// end is what becomes of a reading: a file without rows is a mistake.
func (r *reader) end(err error) error {
	if err == nil && r.index == 0 {
		return task.Errorf(task.Invalid, "there are no rows; send at least one")
	}
	return err
}
