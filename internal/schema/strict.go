package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"longhaul/internal/task"
)

// maxDepth is the maximum nesting depth of objects and arrays.
const maxDepth = 64

// WellFormed refuses JSON that parsers read differently: invalid UTF-8, anything but exactly one JSON value, duplicate
// keys, and nesting deeper than 64. The error is a *task.Error with the position.
func WellFormed(raw []byte) error {
	if !utf8.Valid(raw) {
		return task.Errorf(task.BadRequest, "the body is not UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return task.Errorf(task.BadRequest, "the body is not JSON: %s", syntax(raw, err))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if at := walk(dec, nil); at != nil {
		refused := task.Errorf(task.Invalid, "the body is not valid: %s %s", at.Pointer, at.Detail)
		refused.Errors = []task.FieldError{*at}
		return refused
	}
	return nil
}

func syntax(raw []byte, err error) string {
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err.Error()
	}
	before := raw[:min(int(wrong.Offset), len(raw))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("%s at line %d, column %d", wrong.Error(), line, column)
}

// walk reads one well-formed JSON value and returns the first position with a duplicate key or too deep nesting.
func walk(dec *json.Decoder, path []string) *task.FieldError {
	token, err := dec.Token()
	delim, nested := token.(json.Delim)
	if err != nil || !nested {
		return nil
	}
	if len(path) >= maxDepth {
		return &task.FieldError{Pointer: Pointer(path...), Detail: fmt.Sprintf("is nested deeper than %d", maxDepth)}
	}
	seen := map[string]bool{}
	for i := 0; dec.More(); i++ {
		step := strconv.Itoa(i)
		if delim == '{' {
			key, _ := dec.Token()
			step, _ = key.(string)
		}
		inner := append(slices.Clip(path), step)
		if seen[step] {
			return &task.FieldError{Pointer: Pointer(inner...), Detail: "appears twice"}
		}
		seen[step] = true
		if at := walk(dec, inner); at != nil {
			return at
		}
	}
	_, _ = dec.Token() // the closing bracket
	return nil
}
