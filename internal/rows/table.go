package rows

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// table reads CSV or TSV; the first row names the columns.
func (r *reader) table(format Format) error {
	comma := byte('\t')
	if format == CSV {
		comma = cmp.Or(r.delimiter(), ',')
	}
	t := &cells{in: r.in, comma: comma, most: r.opts.rowBytes, line: 1}
	columns, err := r.header(t)
	if err != nil {
		return err
	}
	for {
		err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.emit(r.tableRow(t, columns)); err != nil {
			return err
		}
	}
}

func (r *reader) tableRow(t *cells, columns []string) Row {
	row := Row{Line: t.from}
	switch {
	case t.length > t.most:
		row.Bad = r.tooLong(t.length)
		if t.fault != "" {
			row.Bad += "; " + t.fault
		}
	case t.fault != "":
		row.Bad = t.fault
	case len(t.ends) != len(columns):
		row.Bad = fmt.Sprintf("the row has %d fields, the header has %d", len(t.ends), len(columns))
	default:
		row.Bad = r.text.damage(t.text)
	}
	if row.Bad != "" {
		return row
	}
	row.Fields = make(map[string]any, len(columns))
	for i, value := range t.values() {
		row.Fields[columns[i]] = value
	}
	var err error
	if row.ID, err = idOf(row.Fields); err != nil {
		row.Bad = err.Error()
	}
	return row
}

// header reads and renames the column names. Names must not be empty or repeated.
func (r *reader) header(t *cells) ([]string, error) {
	err := t.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, r.end(nil)
	case err != nil:
		return nil, err
	case t.length > t.most || t.fault != "" || r.text.damage(t.text) != "":
		return nil, task.Errorf(task.Invalid, "the header in line %d cannot be read: %s", t.from, r.tableRow(t, nil).Bad)
	}
	theirs := t.values()
	columns := make([]string, len(theirs))
	for i, name := range theirs {
		name = strings.TrimSpace(name)
		theirs[i], columns[i] = name, r.ours(name)
		if name == "" {
			return nil, task.Errorf(task.Invalid, "column %d of %d has no name in the header; name it or remove it", i+1, len(theirs))
		}
		if at := slices.Index(columns[:i], columns[i]); at >= 0 {
			return nil, task.Errorf(task.Invalid, "columns %d and %d of the header are both called %q; rename one of them", at+1, i+1, columns[i])
		}
	}
	for name := range r.opts.Columns {
		if !slices.Contains(theirs, name) {
			return nil, task.Errorf(task.Invalid, "columns: %s", schema.Unknown("column", name, theirs))
		}
	}
	return columns, nil
}

// delimiter returns the character that splits most of the first rows into as many fields as the header, and at least
// two. It is 0 if there is none.
func (r *reader) delimiter() byte {
	const enough = 20
	head, err := r.in.Peek(r.in.Size())
	whole := errors.Is(err, io.EOF)
	var best byte
	var most, widest int
	for _, comma := range []byte(",;\t|") {
		t := &cells{in: bufio.NewReader(bytes.NewReader(head)), comma: comma, most: len(head)}
		var counts []int
		for len(counts) < enough && t.next() == nil {
			counts = append(counts, len(t.ends))
		}
		if n := len(counts); !whole && n > 1 && n < enough {
			counts = counts[:n-1] // the last row may be incomplete
		}
		if len(counts) == 0 || counts[0] < 2 {
			continue
		}
		agree := 0
		for _, n := range counts {
			if n == counts[0] {
				agree++
			}
		}
		if agree > most || agree == most && counts[0] > widest {
			best, most, widest = comma, agree, counts[0]
		}
	}
	return best
}

// cells reads a table row by row into reused memory. By RFC 4180, quotes are special only at the beginning of a field.
// A row ends with a line feed, a carriage return, or both. Empty lines are skipped.
type cells struct {
	in    *bufio.Reader
	comma byte
	most  int // limit of bytes kept per row
	line  int // current line

	from   int    // first line of the row
	text   []byte // concatenated fields
	ends   []int  // end of each field in text
	length int    // length of the row in bytes, including dropped bytes
	fault  string
}

// Parser states within a field.
const (
	atStart = iota
	plain
	quoted
	afterQuote // the quote closes the field, or begins an escaped quote
)

// next reads a row; io.EOF after the last row.
func (c *cells) next() error {
	for {
		c.from, c.text, c.ends, c.length, c.fault = c.line, c.text[:0], c.ends[:0], 0, ""
		err := c.row()
		if err != nil && (!errors.Is(err, io.EOF) || c.length == 0) {
			return err
		}
		if c.length > 0 {
			return nil
		}
	}
}

func (c *cells) row() error {
	state := atStart
	for {
		b, err := c.in.ReadByte()
		if err != nil {
			if state == quoted {
				c.fault = fmt.Sprintf("a quote in the row is not closed, so everything up to line %d is one field", c.line)
			}
			c.ends = append(c.ends, len(c.text))
			return err
		}
		if state != quoted && (b == '\n' || b == '\r') {
			c.line++
			c.ends = append(c.ends, len(c.text))
			return c.lineFeed(b)
		}
		c.length++
		state = c.step(state, b)
	}
}

// step processes a byte that does not end the row.
func (c *cells) step(state int, b byte) int {
	switch {
	case state == quoted:
		if b == '"' {
			return afterQuote
		}
		if b == '\n' {
			c.line++
		}
		c.keep(b)
		return quoted
	case b == c.comma:
		c.ends = append(c.ends, len(c.text))
		return atStart
	case b == '"' && state == atStart:
		return quoted
	case b == '"' && state == afterQuote:
		c.keep(b)
		return quoted
	case state == afterQuote && b != ' ':
		c.fault = fmt.Sprintf("field %d continues after its closing quote; write a quote inside a quoted field twice", len(c.ends)+1)
	case state == afterQuote:
		return afterQuote
	}
	c.keep(b)
	return plain
}

func (c *cells) keep(b byte) {
	if c.length <= c.most {
		c.text = append(c.text, b)
	}
}

// lineFeed skips the line feed of a Windows line end.
func (c *cells) lineFeed(b byte) error {
	if b != '\r' {
		return nil
	}
	if next, err := c.in.Peek(1); err == nil && next[0] == '\n' {
		_, err = c.in.Discard(1)
		return err
	}
	return nil
}

// values returns the fields of the row.
func (c *cells) values() []string {
	text, start := string(c.text), 0
	values := make([]string, len(c.ends))
	for i, end := range c.ends {
		values[i], start = text[start:end], end
	}
	return values
}
