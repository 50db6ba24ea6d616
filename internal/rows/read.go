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
	// maxRowBytes is the maximum size of a row.
	maxRowBytes = 16 << 20
	// maxRows is the maximum number of rows in a file.
	maxRows = 5_000_000
	// maxID is the maximum length of an id in bytes.
	maxID = 512
)

// Row is a valid or bad row of an input. A line of an OpenAI batch has the fields of its body.
type Row struct {
	Index  int            // from 0, counting bad rows too
	Line   int            // first line in the file, from 1; 0 for inline rows
	ID     string         // the field "id" or "custom_id"; "" without id
	Fields map[string]any // by column: string, json.Number, bool, nil, or a json.RawMessage for objects and arrays. A text is {"text": …}
	Bad    string         // what is wrong with the row; "" for a valid row
}

// ReadOptions describe a file. The zero value detects everything.
type ReadOptions struct {
	Format      Format            // "" detects it by content type, name and first bytes
	Name        string            // file name
	ContentType string            // as sent, with charset
	Columns     map[string]string // new names of columns, by their name in the file

	rowBytes, rows int // limits for tests; 0 means maxRowBytes, maxRows
}

// Read calls visit for each row of a file, in order, and stops at its first error. A file without rows, with too many
// rows, or in an unknown form gives a *task.Error; visit has then seen the rows before the error.
func Read(ctx context.Context, in io.Reader, opts ReadOptions, visit func(Row) error) error {
	_, params, _ := mime.ParseMediaType(opts.ContentType) // an invalid type declares nothing
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
		return task.Errorf(task.Invalid, "unknown format %q; known: jsonl, json, csv, tsv", format)
	}
	return r.end(err)
}

// ReadInline is Read for rows that are part of the request.
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
	in    *bufio.Reader // reads text
	line  int           // current line
	index int           // index of the next row

	seed maphash.Seed
	ids  map[uint64]int32 // first use of an id, by hash; a million ids collide with a probability of one in thirty million
}

func newReader(ctx context.Context, opts ReadOptions, visit func(Row) error) *reader {
	opts.rowBytes, opts.rows = cmp.Or(opts.rowBytes, maxRowBytes), cmp.Or(opts.rows, maxRows)
	return &reader{ctx: ctx, opts: opts, visit: visit, seed: maphash.MakeSeed(), ids: map[uint64]int32{}}
}

// emit numbers a row and passes it to visit.
func (r *reader) emit(row Row) error {
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	if r.index >= r.opts.rows {
		return task.Errorf(task.TooLarge, "the input has more than %d rows, the limit of a task; split it into several tasks", r.opts.rows)
	}
	row.Index = r.index
	r.index++
	if row.Bad == "" {
		row.Bad = r.checkID(row)
	}
	if row.Bad != "" {
		row.Fields = nil
	}
	return r.visit(row)
}

// checkID returns what is wrong with the id of a row; "" if nothing. Ids must be unique.
func (r *reader) checkID(row Row) string {
	if row.ID == "" {
		return ""
	}
	if len(row.ID) > maxID {
		return fmt.Sprintf("the id has %d bytes, the limit is %d", len(row.ID), maxID)
	}
	place, what := row.Line, "line"
	if place == 0 {
		place, what = row.Index, "row"
	}
	hash := maphash.String(r.seed, row.ID)
	if first, used := r.ids[hash]; used {
		return fmt.Sprintf("the id %q is already used in %s %d", row.ID, what, first)
	}
	r.ids[hash] = int32(min(place, 1<<31-1))
	return ""
}

func (r *reader) tooLong(length int) string {
	if length <= r.opts.rowBytes {
		return ""
	}
	return fmt.Sprintf("the row has %d bytes, the limit is %d", length, r.opts.rowBytes)
}

// end refuses an input without rows.
func (r *reader) end(err error) error {
	if err == nil && r.index == 0 {
		return task.Errorf(task.Invalid, "the input has no rows; send at least one")
	}
	return err
}
