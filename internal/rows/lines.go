package rows

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"longhaul/internal/task"
)

// lines reads JSONL.
func (r *reader) lines() error {
	var buffer []byte
	for {
		line, length, err := r.nextLine(buffer[:0])
		buffer = line
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if length > 0 {
			r.line++
			if emitErr := r.jsonRow(line, length, r.line); emitErr != nil {
				return emitErr
			}
		}
		if err != nil {
			return nil
		}
	}
}

// nextLine appends a line to a buffer, up to the row limit, and returns its full length with line end.
func (r *reader) nextLine(line []byte) (_ []byte, length int, err error) {
	for {
		piece, err := r.in.ReadSlice('\n')
		length += len(piece)
		line = append(line, piece[:min(len(piece), max(r.opts.rowBytes+2-len(line), 0))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, length, err
		}
	}
}

// jsonRow emits the row in a piece of JSON. A piece over the limit is truncated; blank pieces are ignored.
func (r *reader) jsonRow(raw []byte, length, line int) error {
	raw = bytes.TrimRight(raw, "\r\n")
	row := Row{Line: line}
	if length > r.opts.rowBytes+2 || len(raw) > r.opts.rowBytes {
		row.Bad = r.tooLong(length)
		return r.emit(row)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if row.Bad = r.text.damage(raw); row.Bad == "" {
		r.fill(&row, raw)
	}
	return r.emit(row)
}

// array reads one JSON array. It finds elements by commas, brackets and quotes only, so that an invalid element is a
// bad row and reading continues.
func (r *reader) array() error {
	r.line = 1
	if b, err := r.skipSpace(); err != nil || b != '[' {
		return r.broken(err, "it must begin with [")
	}
	for {
		if _, err := r.skipSpace(); err != nil {
			return r.broken(err, "the closing ] is missing")
		}
		_ = r.in.UnreadByte() // after reading a byte it cannot fail
		e := element{line: r.line}
		last, err := r.element(&e)
		if err != nil {
			return r.broken(err, "the closing ] is missing")
		}
		if e.length > 0 || !last { // an empty last element means an empty array or a trailing comma
			if err := r.elementRow(e); err != nil {
				return err
			}
		}
		if last {
			break
		}
	}
	if _, err := r.skipSpace(); !errors.Is(err, io.EOF) {
		return r.broken(err, "data follows the array")
	}
	return nil
}

// element is an element of an array.
type element struct {
	raw    []byte // truncated at the row limit
	length int
	line   int
}

func (r *reader) elementRow(e element) error {
	if e.length == 0 {
		return r.emit(Row{Line: e.line, Bad: "the row is empty: two commas without a value between them"})
	}
	return r.jsonRow(e.raw, e.length, e.line)
}

// element reads one element, with the comma or the closing bracket after it.
func (r *reader) element(e *element) (last bool, err error) {
	depth, quoted := 0, false
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return false, err
		}
		switch {
		case b == '\n':
			r.line++
		case quoted && b == '\\':
			r.keep(e, b)
			if b, err = r.in.ReadByte(); err != nil {
				return false, err
			}
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			depth++
		case depth == 0 && (b == ',' || b == ']'):
			return b == ']', nil
		case b == '}' || b == ']':
			depth = max(depth-1, 0)
		}
		r.keep(e, b)
	}
}

func (r *reader) keep(e *element, b byte) {
	e.length++
	if len(e.raw) <= r.opts.rowBytes+2 {
		e.raw = append(e.raw, b)
	}
}

// skipSpace returns the next byte that is not white space.
func (r *reader) skipSpace() (byte, error) {
	for {
		b, err := r.in.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case b == '\n':
			r.line++
		case b != ' ' && b != '\t' && b != '\r':
			return b, nil
		}
	}
}

// broken returns the error of a file that is not a JSON array.
func (r *reader) broken(err error, problem string) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return task.Errorf(task.Invalid, "the file is not a JSON array: %s (line %d)", problem, r.line)
}
