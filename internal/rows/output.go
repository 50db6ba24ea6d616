package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Output writes a result file row by row, in the order of the input. Close completes the file but does not close the
// underlying writer. After an error of Row the file is unusable.
type Output interface {
	Row(Result) error
	Close() error
}

// Result is the result of one row.
type Result struct {
	Index  int
	ID     string         // "" if the input has no id
	Values map[string]any // by column: values as in Row.Fields, or JSON-encodable; never "index", "id" or "vector"
	Vector []float32      // nil without a vector
}

// reserved reports whether a column name is used by every output.
func reserved(column string) bool { return column == "index" || column == "id" || column == "vector" }

func (r Result) check() error {
	for column := range r.Values {
		if reserved(column) {
			return fmt.Errorf("row %d: the column name %q is reserved", r.Index, column)
		}
	}
	return nil
}

// JSONLines writes one JSON object per line: index, id, values by name, and vector; id and vector only if present.
type JSONLines struct {
	out  *bufio.Writer
	line []byte
}

// NewJSONLines returns a writer of JSONL.
func NewJSONLines(w io.Writer) *JSONLines { return &JSONLines{out: bufio.NewWriterSize(w, 64<<10)} }

// Row implements Output.
func (j *JSONLines) Row(r Result) error {
	if err := r.check(); err != nil {
		return err
	}
	line := bytes.NewBuffer(strconv.AppendInt(append(j.line[:0], `{"index":`...), int64(r.Index), 10))
	add := func(name string, value any) error {
		line.WriteByte(',')
		if err := compact(line, name); err != nil {
			return err
		}
		line.WriteByte(':')
		if err := compact(line, value); err != nil {
			return fmt.Errorf("row %d, %s: %w", r.Index, name, err)
		}
		return nil
	}
	var err error
	if r.ID != "" {
		err = add("id", r.ID)
	}
	for _, name := range sortedNames(r.Values) {
		err = errors.Join(err, add(name, r.Values[name]))
	}
	if r.Vector != nil {
		err = errors.Join(err, add("vector", r.Vector))
	}
	line.WriteString("}\n")
	j.line = line.Bytes()
	if err == nil {
		_, err = j.out.Write(j.line)
	}
	return err
}

// Close implements Output.
func (j *JSONLines) Close() error { return j.out.Flush() }

func sortedNames(values map[string]any) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// compact appends a value as JSON on one line.
func compact(out *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1)
	return nil
}

// Table writes CSV by RFC 4180 with a header: index, id, and the given columns. A missing value is empty; values other
// than texts are JSON. Vectors are refused.
//
// A text that a spreadsheet would run as a formula gets a leading apostrophe: texts that begin with = + - @, their
// full-width forms, a tab or a newline, except numbers.
type Table struct {
	out     *bufio.Writer
	columns []string
	line    []byte
	err     error // error of the header
}

// NewTable returns a writer of CSV with the columns of all lists, without duplicates, in order.
func NewTable(w io.Writer, lists ...[]string) *Table {
	t := &Table{out: bufio.NewWriterSize(w, 64<<10)}
	for _, column := range slices.Concat(lists...) {
		if reserved(column) {
			t.err = fmt.Errorf("the column name %q is reserved", column)
		}
		if !slices.Contains(t.columns, column) {
			t.columns = append(t.columns, column)
		}
	}
	t.cell("index")
	t.cell("id")
	for _, column := range t.columns {
		t.cell(column)
	}
	t.err = errors.Join(t.err, t.endLine())
	return t
}

// Row implements Output.
func (t *Table) Row(r Result) error {
	if t.err != nil {
		return t.err
	}
	if r.Vector != nil {
		return fmt.Errorf("row %d: CSV cannot hold a vector", r.Index)
	}
	for name := range r.Values {
		if !slices.Contains(t.columns, name) {
			return fmt.Errorf("row %d: the table has no column %q", r.Index, name)
		}
	}
	t.cell(strconv.Itoa(r.Index))
	t.cell(r.ID)
	for _, column := range t.columns {
		t.cell(plainText(r.Values[column]))
	}
	return t.endLine()
}

// Close implements Output.
func (t *Table) Close() error { return errors.Join(t.err, t.out.Flush()) }

// cell appends a value to the line.
func (t *Table) cell(text string) {
	if len(t.line) > 0 {
		t.line = append(t.line, ',')
	}
	if formula(text) {
		text = "'" + text
	}
	if !strings.ContainsAny(text, ",;\t\"\r\n") && strings.TrimSpace(text) == text {
		t.line = append(t.line, text...)
		return
	}
	t.line = append(t.line, '"')
	t.line = append(t.line, strings.ReplaceAll(text, `"`, `""`)...)
	t.line = append(t.line, '"')
}

func (t *Table) endLine() error {
	t.line = append(t.line, '\r', '\n')
	_, err := t.out.Write(t.line)
	t.line = t.line[:0]
	return err
}

// formula reports whether a spreadsheet would run a text as a formula.
func formula(text string) bool {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20", []rune(text[:min(len(text), 4)])[0]) {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err != nil || strings.ContainsAny(text, "iInNxX_") // Go parses infinity and hexadecimal numbers, spreadsheets do not
}
