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

// Output is a file of results that is written row by row, in the order of the input. Close ends the file; it does not
// close what the file is written to. After an error of Row the file is of no use.
type Output interface {
	Row(Result) error
	Close() error
}

// Result is what became of one row.
type Result struct {
	Index  int
	ID     string         // "" when the input had none
	Values map[string]any // by column: what a Row holds, or anything that is JSON; never "index", "id" or "vector"
	Vector []float32      // nil for results without one
}

// reserved are the columns that every output has of its own.
func reserved(column string) bool { return column == "index" || column == "id" || column == "vector" }

func (r Result) check() error {
	for column := range r.Values {
		if reserved(column) {
			return fmt.Errorf("row %d: a value is called %q, as a column of every output is", r.Index, column)
		}
	}
	return nil
}

// JSONLines writes a JSON object a line: index, id if there is one, the values by name, and the vector if there is one.
type JSONLines struct {
	out  *bufio.Writer
	line []byte
}

// NewJSONLines gives a writer of JSONL.
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

// compact appends a value as JSON without a newline.
func compact(out *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1)
	return nil
}

// Table writes CSV as RFC 4180 has it, with a header: index, id, and the columns it was given. A value that is missing
// is empty; anything but a text is JSON. Vectors have no place in it.
//
// Spreadsheets run what begins like a formula, so a text that begins with = + - @, their full-width forms, a tab or a
// newline has an apostrophe put before it, unless it is a number. Everything else is written as it is.
type Table struct {
	out     *bufio.Writer
	columns []string
	line    []byte
	err     error // of the header
}

// NewTable gives a writer of CSV with the columns of all lists, each once, in their order.
func NewTable(w io.Writer, lists ...[]string) *Table {
	t := &Table{out: bufio.NewWriterSize(w, 64<<10)}
	for _, column := range slices.Concat(lists...) {
		if reserved(column) {
			t.err = fmt.Errorf("a column is called %q, as one of every output is", column)
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
		return fmt.Errorf("row %d: a vector has no place in CSV", r.Index)
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

// formula reports whether a spreadsheet would run a text.
func formula(text string) bool {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20", []rune(text[:min(len(text), 4)])[0]) {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err != nil || strings.ContainsAny(text, "iInNxX_") // infinity and hexadecimal are numbers to Go alone
}
