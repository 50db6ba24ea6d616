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

// Template is a text with places for the values of columns, written {{column}}. There is no logic in it, and a value
// is put in as it is: what looks like a place in a value is text. It is safe for concurrent use.
type Template struct{ pieces []piece }

// piece is a text, or else the column whose value goes there.
type piece struct{ text, column string }

// Compile reads a template. {{ column }} may have spaces around its name, and {{{{ is two braces of the text.
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
				"the template has {{ without the name of a column and }} at %s; write {{{{ for two braces that are text", at)
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

// position tells a place for people: both numbers begin at 1, and a character is one, however many bytes it has.
func position(text string, at int) string {
	line := strings.Count(text[:at], "\n") + 1
	column := utf8.RuneCountInString(text[strings.LastIndexByte(text[:at], '\n')+1:at]) + 1
	return fmt.Sprintf("line %d, character %d", line, column)
}

// Columns are the columns with a place in the template, each once, in their order.
func (t *Template) Columns() []string {
	var columns []string
	for _, p := range t.pieces {
		if p.column != "" && !slices.Contains(columns, p.column) {
			columns = append(columns, p.column)
		}
	}
	return columns
}

// Check refuses a template with places for columns that are not there, and names the nearest that is.
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

// Render puts values into their places, and names the columns of places that have no value: their places stay empty. A text
// is put in as it is, null as nothing, anything else as compact JSON.
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

// plainText is a value as people read it.
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
