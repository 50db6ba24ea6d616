package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// Template is a text with placeholders {{column}}. It has no logic, and values are inserted unchanged: braces in a
// value are not placeholders. It is safe for concurrent use.
type Template struct{ pieces []piece }

// piece is either a text or a column.
type piece struct{ text, column string }

// Compile parses a template. {{ column }} may contain spaces around the name; {{{{ stands for two literal braces.
func Compile(text string) (*Template, error) {
	t := &Template{}
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		t.text(before)
		if !found {
			break
		}
		if literal, ok := strings.CutPrefix(after, "{{"); ok {
			t.text("{{")
			rest = literal
			continue
		}
		name, next, closed := strings.Cut(after, "}}")
		at := position(text, len(text)-len(after)-2)
		column := strings.TrimSpace(name)
		if !closed || column == "" || strings.ContainsAny(name, "\n{") {
			return nil, task.Errorf(task.Invalid,
				"the template has {{ without a column name and }} at %s; write {{{{ for two literal braces", at)
		}
		t.pieces = append(t.pieces, piece{column: column})
		rest = next
	}
	return t, nil
}

func (t *Template) text(text string) {
	if text != "" {
		t.pieces = append(t.pieces, piece{text: text})
	}
}

// position describes a position for people: line and column from 1, counted in characters.
func position(text string, at int) string {
	line := strings.Count(text[:at], "\n") + 1
	column := utf8.RuneCountInString(text[strings.LastIndexByte(text[:at], '\n')+1:at]) + 1
	return fmt.Sprintf("line %d, character %d", line, column)
}

// Columns returns the columns in the template, without duplicates, in order.
func (t *Template) Columns() []string {
	var columns []string
	for _, p := range t.pieces {
		if p.column != "" && !slices.Contains(columns, p.column) {
			columns = append(columns, p.column)
		}
	}
	return columns
}

// Check refuses a template with unknown columns and suggests the nearest names.
func (t *Template) Check(columns []string) error {
	var faults []string
	for _, column := range t.Columns() {
		if !slices.Contains(columns, column) {
			faults = append(faults, schema.Unknown("column", column, columns))
		}
	}
	if faults == nil {
		return nil
	}
	return task.Errorf(task.Invalid, "the template has an %s", strings.Join(faults, "; "))
}

// Render inserts values and returns the columns without a value, which stay empty. A text is inserted unchanged, null
// as nothing, other values as compact JSON.
func (t *Template) Render(fields map[string]any) (text string, missing []string) {
	var out strings.Builder
	for _, p := range t.pieces {
		out.WriteString(p.text)
		if p.column == "" {
			continue
		}
		value, there := fields[p.column]
		if !there && !slices.Contains(missing, p.column) {
			missing = append(missing, p.column)
		}
		out.WriteString(plainText(value))
	}
	return out.String(), missing
}

// plainText formats a value for Render.
func plainText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
