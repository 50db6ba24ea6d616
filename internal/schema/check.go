package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"longhaul/internal/task"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// MaxErrors is the maximum number of errors that Check returns.
const MaxErrors = 100

// Compile reads a JSON Schema, 2020-12 unless it declares another version. A schema with references outside itself is
// refused, so that a user's schema cannot read a file or call an address.
func Compile(raw json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	const here = "schema:///"
	c := jsonschema.NewCompiler()
	c.UseLoader(denied{})
	c.AssertFormat()
	if err := c.AddResource(here, doc); err != nil {
		return nil, fmt.Errorf("add schema: %w", err)
	}
	compiled, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("is not a JSON Schema: %w", plain(err))
	}
	return &Schema{compiled: compiled}, nil
}

// plain describes in one line where a schema violates the metaschema.
func plain(err error) error {
	broken, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return err
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](broken.Err)
	if !ok {
		return err
	}
	found := (&Schema{}).explain(invalid)
	if len(found) == 0 {
		return err
	}
	return errors.New(strings.TrimPrefix(found[0].Pointer+" "+found[0].Detail, " "))
}

// denied is a loader that refuses to load anything.
type denied struct{}

func (denied) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s, and only references within itself are allowed", url)
}

// Check returns the violations of the schema, ordered by pointer, at most MaxErrors; nil means valid. The text must be
// WellFormed.
func (s *Schema) Check(raw json.RawMessage) []task.FieldError {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []task.FieldError{{Detail: "is not JSON"}}
	}
	// The validator uses exact arithmetic, so numbers with very many digits must not reach it.
	if vast := numbers(value, nil, tooLong); len(vast) > 0 {
		return tidy(vast)
	}
	found := append(s.spelling(value), s.names(value, nil)...)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(value)); ok {
		found = append(found, s.explain(invalid)...)
		if len(found) == 0 { // the violation cannot be attributed to one schema
			found = append(found, task.FieldError{Detail: "does not have an allowed form"})
		}
	}
	return tidy(found)
}

// spelling finds integers with a fraction, such as 300.0. JSON Schema accepts them as integers, most programs do not.
func (s *Schema) spelling(value any) []task.FieldError {
	return numbers(value, nil, func(path []string, n json.Number) string {
		at := lookup(s.compiled, path)
		if at == nil || at.Types == nil || !slices.Equal(at.Types.ToStrings(), []string{"integer"}) {
			return ""
		}
		if strings.ContainsAny(string(n), ".eE") {
			return "must be a whole number, written with digits only"
		}
		return ""
	})
}

// names finds keys that violate propertyNames.
func (s *Schema) names(value any, path []string) []task.FieldError {
	var found []task.FieldError
	switch v := value.(type) {
	case map[string]any:
		at := lookup(s.compiled, path)
		for key, inner := range v {
			here := append(slices.Clip(path), key)
			if at != nil && at.PropertyNames != nil && at.PropertyNames.Validate(key) != nil {
				found = append(found, task.FieldError{Pointer: Pointer(here...), Detail: "is not an allowed name" + form(at.PropertyNames)})
			}
			found = append(found, s.names(inner, here)...)
		}
	case []any:
		for i, inner := range v {
			found = append(found, s.names(inner, append(slices.Clip(path), fmt.Sprint(i)))...)
		}
	}
	return found
}

// form states the pattern for names, if the schema has one.
func form(names *jsonschema.Schema) string {
	if names.Pattern == nil {
		return ""
	}
	return "; names match the pattern " + names.Pattern.String()
}

// numbers calls ask for every number in a value; a non-empty answer becomes an error.
func numbers(value any, path []string, ask func([]string, json.Number) string) []task.FieldError {
	var found []task.FieldError
	switch v := value.(type) {
	case json.Number:
		if detail := ask(path, v); detail != "" {
			found = append(found, task.FieldError{Pointer: Pointer(path...), Detail: detail})
		}
	case map[string]any:
		for key, inner := range v {
			found = append(found, numbers(inner, append(slices.Clip(path), key), ask)...)
		}
	case []any:
		for i, inner := range v {
			found = append(found, numbers(inner, append(slices.Clip(path), fmt.Sprint(i)), ask)...)
		}
	}
	return found
}

// maxDigits limits the digits and the exponent of a number. A float64 ends at 1e308.
const maxDigits = 400

func tooLong(_ []string, n json.Number) string {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	digits := strings.TrimLeft(exponent, "+-0")
	if len(n) > maxDigits || len(digits) > 3 || len(digits) == 3 && digits > fmt.Sprint(maxDigits) {
		return fmt.Sprintf("is a number of more than %d digits", maxDigits)
	}
	return ""
}

// lookup returns the schema that applies to a path in a value; nil if none or several may apply.
func lookup(s *jsonschema.Schema, path []string) *jsonschema.Schema {
	for s != nil && s.Ref != nil {
		s = s.Ref
	}
	if s == nil || len(path) == 0 {
		return s
	}
	if inner, ok := s.Properties[path[0]]; ok {
		return lookup(inner, path[1:])
	}
	if s.Items2020 != nil {
		return lookup(s.Items2020, path[1:])
	}
	inner, _ := s.AdditionalProperties.(*jsonschema.Schema)
	return lookup(inner, path[1:])
}

// tidy sorts errors, removes duplicates and keeps the first MaxErrors.
func tidy(found []task.FieldError) []task.FieldError {
	slices.SortFunc(found, func(a, b task.FieldError) int {
		return strings.Compare(a.Pointer+"\x00"+a.Detail, b.Pointer+"\x00"+b.Detail)
	})
	found = slices.Compact(found)
	return found[:min(len(found), MaxErrors)]
}

// Pointer returns the JSON Pointer of a path; the empty path is the whole document, "".
func Pointer(path ...string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return b.String()
}
