package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"longhaul/internal/task"
)

// explain turns a validation error and its causes into field errors.
func (s *Schema) explain(e *jsonschema.ValidationError) []task.FieldError {
	path := e.InstanceLocation
	fail := func(format string, args ...any) []task.FieldError {
		return []task.FieldError{{Pointer: Pointer(path...), Detail: fmt.Sprintf(format, args...)}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		if k.Got == "number" && slices.Equal(k.Want, []string{"integer"}) {
			return nil // reported by spelling
		}
	case *kind.Required:
		return each(path, k.Missing, func(string) string { return "is required" })
	case *kind.AdditionalProperties:
		known := s.fields(path)
		return each(path, k.Properties, func(name string) string { return Unknown("field", name, known) })
	case *kind.OneOf:
		if names := s.alternatives(path); names != nil {
			return fail("needs exactly one of %s", strings.Join(names, ", "))
		}
		return fail("must match exactly one of the allowed forms")
	case *kind.PropertyNames:
		return nil // reported by names; the location in this error is unreliable
	}
	if len(e.Causes) > 0 {
		var found []task.FieldError
		for _, cause := range e.Causes {
			found = append(found, s.explain(cause)...)
		}
		return found
	}
	return fail("%s", sentence(e.ErrorKind))
}

func each(path, names []string, detail func(name string) string) []task.FieldError {
	var found []task.FieldError
	for _, name := range names {
		pointer := Pointer(append(slices.Clip(path), name)...)
		found = append(found, task.FieldError{Pointer: pointer, Detail: detail(name)})
	}
	return found
}

// fields returns the names that an object may have.
func (s *Schema) fields(path []string) []string {
	at := lookup(s.compiled, path)
	if at == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(at.Properties))
}

// alternatives returns the names of which an object must have exactly one; nil if oneOf has another form.
func (s *Schema) alternatives(path []string) []string {
	at := lookup(s.compiled, path)
	if at == nil {
		return nil
	}
	var names []string
	for _, branch := range at.OneOf {
		if len(branch.Required) != 1 {
			return nil
		}
		names = append(names, branch.Required[0])
	}
	return names
}

// sentence states the requirement of a keyword.
func sentence(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, not %s", strings.Join(articles(k.Want), " or "), article(k.Got))
	case *kind.Enum:
		return "must be one of " + list(k.Want)
	case *kind.Const:
		return "must be " + list([]any{k.Want})
	case *kind.Format:
		return "must be " + format(k.Want)
	case *kind.Pattern:
		return "must match the pattern " + k.Want
	case *kind.UniqueItems:
		return fmt.Sprintf("must not repeat an entry: number %d is the same as number %d", k.Duplicates[1]+1, k.Duplicates[0]+1)
	}
	if s := bounds(k); s != "" {
		return s
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

// bounds states the requirement of a limit keyword; "" for other keywords.
func bounds(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %s", count(k.Want, "character"))
	case *kind.MaxLength:
		return fmt.Sprintf("has %s, and at most %d are allowed", count(k.Got, "character"), k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %s", count(k.Want, "entry"))
	case *kind.MaxItems:
		return fmt.Sprintf("has %s, and at most %d are allowed", count(k.Got, "entry"), k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %s", count(k.Want, "field"))
	case *kind.MaxProperties:
		return fmt.Sprintf("has %s, and at most %d are allowed", count(k.Got, "field"), k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString()
	}
	return ""
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return strconv.Itoa(n) + " " + stem + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func articles(types []string) []string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = article(t)
	}
	return words
}

func article(jsonType string) string {
	switch jsonType {
	case "null":
		return "null"
	case "integer":
		return "a whole number"
	case "boolean":
		return "true or false"
	case "array", "object":
		return "an " + jsonType
	default:
		return "a " + jsonType
	}
}

func format(name string) string {
	switch name {
	case "uri":
		return "an absolute address, such as https://example.com/report.pdf"
	case "date-time":
		return "a time as in RFC 3339, with its offset, such as 2030-01-02T15:04:05Z"
	default:
		return "a valid " + name
	}
}

func list(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
