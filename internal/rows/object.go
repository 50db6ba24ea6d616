package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// fill parses the JSON of a row: an object, a text, or a line of an OpenAI batch.
func (r *reader) fill(row *Row, raw []byte) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		row.Bad = "the row is empty"
	case !json.Valid(raw):
		row.Bad = "the row is not JSON: " + syntax(raw)
	case raw[0] == '"':
		row.Fields = map[string]any{r.ours("text"): unquote(raw)}
	case raw[0] == '{':
		row.Bad = r.object(row, raw)
	default:
		row.Bad = "a row must be an object or a text, not " + kindOf(raw)
	}
}

// object fills a row from a JSON object and returns what is wrong with it, or "".
func (r *reader) object(row *Row, raw []byte) string {
	fields, err := r.fields(raw)
	if err != nil {
		return err.Error()
	}
	body, batch := fields["body"].(json.RawMessage)
	method, sent := fields["method"].(string)
	_, to := fields["url"].(string)
	if batch = batch && sent && to && method == "POST" && body[0] == '{' && fields["custom_id"] != nil; batch {
		row.Fields, err = r.fields(body)
		if err != nil {
			return "body: " + err.Error()
		}
		fields = map[string]any{"custom_id": fields["custom_id"]}
	} else {
		row.Fields = fields
	}
	row.ID, err = idOf(fields)
	if err != nil {
		return err.Error()
	}
	return ""
}

// fields returns the members of an object, with columns renamed by ReadOptions.Columns.
func (r *reader) fields(raw []byte) (map[string]any, error) {
	fields := map[string]any{}
	err := members(raw, func(name string, value []byte) error {
		name = r.ours(name)
		if _, there := fields[name]; there {
			return fmt.Errorf("the field %q appears twice", name)
		}
		fields[name] = valueOf(value)
		return nil
	})
	return fields, err
}

// ours returns the name that ReadOptions.Columns gives a column.
func (r *reader) ours(name string) string {
	if ours, mapped := r.opts.Columns[name]; mapped {
		return ours
	}
	return name
}

// idOf returns the id in the fields of a row.
func idOf(fields map[string]any) (string, error) {
	for _, name := range []string{"id", "custom_id"} {
		switch id := fields[name].(type) {
		case nil:
		case string:
			if id != "" {
				return id, nil
			}
		case json.Number:
			return id.String(), nil
		default:
			return "", fmt.Errorf("the field %q must be a text or a number", name)
		}
	}
	return "", nil
}

// syntax describes the syntax error of invalid JSON.
func syntax(raw []byte) string {
	var none json.RawMessage
	err := json.Unmarshal(raw, &none)
	if fault, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%s, at byte %d", fault, fault.Offset)
	}
	return fmt.Sprint(err)
}

func kindOf(raw []byte) string {
	switch raw[0] {
	case '[':
		return "an array"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// members visits the members of a valid JSON object in their order.
func members(raw []byte, visit func(name string, value []byte) error) error {
	at := space(raw, bytes.IndexByte(raw, '{')+1)
	for raw[at] != '}' {
		end := stringEnd(raw, at)
		name := unquote(raw[at:end])
		at = space(raw, space(raw, end)+1) // after the colon
		end = valueEnd(raw, at)
		if err := visit(name, raw[at:end]); err != nil {
			return err
		}
		at = space(raw, end)
		if raw[at] == ',' {
			at = space(raw, at+1)
		}
	}
	return nil
}

func space(raw []byte, at int) int {
	for raw[at] == ' ' || raw[at] == '\t' || raw[at] == '\n' || raw[at] == '\r' {
		at++
	}
	return at
}

// stringEnd returns the end of the string that begins at a position.
func stringEnd(raw []byte, at int) int {
	for at++; raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// valueEnd returns the end of the value that begins at a position.
func valueEnd(raw []byte, at int) int {
	for depth := 0; ; {
		switch raw[at] {
		case '"':
			at = stringEnd(raw, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		default:
			at++
		}
		if depth == 0 && (raw[at] == ',' || raw[at] == '}' || raw[at] == ']' || raw[at] <= ' ') {
			return at
		}
	}
}

// valueOf converts a valid JSON value to its form in Row.Fields.
func valueOf(raw []byte) any {
	switch raw[0] {
	case '"':
		return unquote(raw)
	case '{', '[':
		var short bytes.Buffer
		short.Grow(len(raw))
		if err := json.Compact(&short, raw); err != nil {
			return json.RawMessage(bytes.Clone(raw))
		}
		return json.RawMessage(short.Bytes())
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	}
	return json.Number(raw)
}

// unquote returns the text of a valid JSON string.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return string(inner)
	}
	return text
}
