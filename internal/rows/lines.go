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

// nextLine appends a line to a buffer, up to the limit of a row, and tells how long it is with its end.
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

// jsonRow hands over the row that a piece of JSON is. A piece that is too long is not whole; blank ones are no rows.
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

// array reads one JSON array. Its elements are told apart by commas, brackets and quotes alone, so that one that is not JSON
// is a bad row and the next one is found.
func (r *reader) array() error {
	r.line = 1
	if b, err := r.skipSpace(); err != nil || b != '[' {
		return r.broken(err, "it does not begin with [")
	}
	for {
		if _, err := r.skipSpace(); err != nil {
			return r.broken(err, "its array has no end")
		}
		_ = r.in.UnreadByte() // of the byte just read
		e := element{line: r.line}
		last, err := r.element(&e)
		if err != nil {
			return r.broken(err, "its array has no end")
		}
		if e.length > 0 || !last { // nothing before the bracket is an empty array, or a comma too many
			if err := r.elementRow(e); err != nil {
				return err
			}
		}
		if last {
			break
		}
	}
	if _, err := r.skipSpace(); !errors.Is(err, io.EOF) {
		return r.broken(err, "something follows its array")
	}
	return nil
}

// element is one of an array.
type element struct {
	raw    []byte // as much of it as a row may have
	length int
	line   int
}

func (r *reader) elementRow(e element) error {
	if e.length == 0 {
		return r.emit(Row{Line: e.line, Bad: "there is nothing between two commas"})
	}
	return r.jsonRow(e.raw, e.length, e.line)
}

// element reads up to the comma after an element, or the bracket after the last one.
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

// skipSpace reads the next byte that is no white space.
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

// broken is the error of a file whose JSON as a whole is not right.
func (r *reader) broken(err error, what string) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return task.Errorf(task.Invalid, "the file is no JSON array: %s (line %d)", what, r.line)
}
