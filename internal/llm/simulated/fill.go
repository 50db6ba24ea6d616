package simulated

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"longhaul/internal/schema"
)

// facts are what JSON of a schema is filled with.
type facts struct {
	goal string
	body string // an extract of what is known
	url  string // "" when none is known
}

// make gives JSON of a schema: of an object the fields that are required, or all. It reports whether the
// JSON is valid; a schema may ask for what is not to be had here.
func (f facts) make(raw json.RawMessage, all bool) (json.RawMessage, bool) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	var root map[string]any
	if json.Unmarshal(raw, &root) != nil {
		return nil, false
	}
	made, err := json.Marshal(filler{f, root, all}.value(root, "", 0))
	if err != nil {
		return nil, false
	}
	compiled, err := schema.Compile(raw)
	return made, err == nil && len(compiled.Check(made)) == 0
}

// answer gives JSON of a schema with as much in it as is valid.
func (f facts) answer(raw json.RawMessage) string {
	made, valid := f.make(raw, true)
	if !valid {
		made, _ = f.make(raw, false)
	}
	return string(made)
}

// filler makes values under one schema.
type filler struct {
	facts
	root map[string]any
	all  bool
}

// maxDepth is how deep a value gets: a schema may contain itself.
const maxDepth = 12

// value is one for a place that has this name and this schema.
func (f filler) value(s map[string]any, name string, depth int) any {
	s = f.resolve(s)
	if depth > maxDepth {
		return nil
	}
	for _, given := range []string{"const", "default"} {
		if v, ok := s[given]; ok {
			return v
		}
	}
	if choices, ok := s["enum"].([]any); ok && len(choices) > 0 {
		return choices[0]
	}
	switch kind(s) {
	case "object":
		return f.object(s, depth)
	case "array":
		return f.array(s, name, depth)
	case "integer", "number":
		return number(s)
	case "boolean":
		return false
	case "null":
		return nil
	default:
		return f.text(s, name)
	}
}

// resolve follows references, and takes the first of several forms.
func (f filler) resolve(s map[string]any) map[string]any {
	for range maxDepth {
		next := map[string]any{}
		if ref, ok := s["$ref"].(string); ok {
			next = f.find(ref)
		}
		for _, forms := range []string{"anyOf", "oneOf", "allOf"} {
			if list, ok := s[forms].([]any); ok && len(list) > 0 {
				next, _ = list[0].(map[string]any)
			}
		}
		if len(next) == 0 {
			return s
		}
		s = next
	}
	return s
}

// find follows a reference from the root, such as #/$defs/place.
func (f filler) find(ref string) map[string]any {
	at := f.root
	for step := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if step != "" {
			at, _ = at[step].(map[string]any)
		}
	}
	return at
}

// kind is the type that a schema asks for, the first of several.
func kind(s map[string]any) string {
	if list, ok := s["type"].([]any); ok && len(list) > 0 {
		first, _ := list[0].(string)
		return first
	}
	if one, ok := s["type"].(string); ok {
		return one
	}
	switch {
	case s["properties"] != nil:
		return "object"
	case s["items"] != nil:
		return "array"
	}
	return "string"
}

func (f filler) object(s map[string]any, depth int) map[string]any {
	properties, _ := s["properties"].(map[string]any)
	made := map[string]any{}
	required, _ := s["required"].([]any)
	for _, name := range sorted(properties) {
		inner, _ := properties[name].(map[string]any)
		if f.all && depth < maxDepth/3 || slices.Contains(required, any(name)) {
			made[name] = f.value(inner, name, depth+1)
		}
	}
	for _, name := range required {
		if name, ok := name.(string); ok && properties[name] == nil {
			made[name] = f.text(nil, name)
		}
	}
	return made
}

func (f filler) array(s map[string]any, name string, depth int) []any {
	inner, _ := s["items"].(map[string]any)
	least, most := bound(s, "minItems", 1), bound(s, "maxItems", math.Inf(1))
	made := []any{}
	for range int(min(max(least, 1), most, 20)) {
		made = append(made, f.value(inner, name, depth+1))
	}
	return made
}

// number is the least that is allowed, or 1.
func number(s map[string]any) float64 {
	n := bound(s, "minimum", bound(s, "exclusiveMinimum", 0)+1)
	n = min(n, bound(s, "maximum", n), bound(s, "exclusiveMaximum", n+1)-1)
	if step := bound(s, "multipleOf", 0); step > 0 {
		n = math.Ceil(n/step) * step
	}
	if kind(s) == "integer" {
		n = math.Ceil(n)
	}
	return n
}

func bound(s map[string]any, name string, none float64) float64 {
	if n, ok := s[name].(float64); ok {
		return n
	}
	return none
}

// samples are texts of formats that words do not have.
var samples = map[string]string{
	"date": "2026-01-01", "time": "12:00:00Z", "date-time": "2026-01-01T12:00:00Z", "duration": "P1D", "email": "nobody@example.com",
	"uuid": "00000000-0000-4000-8000-000000000000", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "hostname": "example.com",
}

// text is a string for a place: what its format or name asks for, or words of the goal. It is nil where an
// address is needed and none is known.
func (f filler) text(s map[string]any, name string) any {
	format, _ := s["format"].(string)
	if day := date.FindString(f.goal); day != "" && format == "date" {
		return day
	}
	if sample, ok := samples[format]; ok {
		return sample
	}
	words := f.words()
	switch name = strings.ToLower(name); {
	case strings.HasPrefix(format, "uri"), strings.Contains(name, "url"), name == "uri", name == "link", name == "href":
		if f.url == "" {
			return nil
		}
		return f.url
	case name == "expression":
		return f.sum()
	case strings.Contains(name, "name") && s["pattern"] != nil:
		return "notes.md"
	case slices.Contains([]string{"goal", "question", "task", "prompt", "title"}, name):
		words = f.goal
	case slices.Contains([]string{"summary", "report", "answer", "text", "content", "body", "description", "result", "conclusion"}, name):
		words = f.body
	}
	least, most := int(min(bound(s, "minLength", 0), 10_000)), bound(s, "maxLength", math.Inf(1))
	runes := []rune(words)
	for len(runes) < least {
		runes = append(runes, []rune(" "+words)...)
	}
	made := strings.TrimSpace(string(runes[:int(min(float64(len(runes)), most))]))
	return made + strings.Repeat(".", max(0, least-len([]rune(made)))) // what the trimming took
}

var date = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

var arithmetic = regexp.MustCompile(`[\d(][\d\s.()]*[-+*/^][-+*/^\d\s.()]*[\d)]`)

// sum is the first calculation in the goal; nil when there is none.
func (f facts) sum() any {
	if found := arithmetic.FindString(date.ReplaceAllString(f.goal, "")); found != "" {
		return found
	}
	return nil
}

// words are those of the goal that a search would be made with.
func (f facts) words() string {
	const most = 8
	var chosen []string
	for word := range strings.FieldsSeq(firstWords(address.ReplaceAllString(f.goal, ""), 24)) {
		word = strings.TrimFunc(word, func(r rune) bool { return !letter(r) })
		if len(word) > 2 && !small[strings.ToLower(word)] && len(chosen) < most {
			chosen = append(chosen, word)
		}
	}
	if len(chosen) == 0 {
		return cmp.Or(strings.TrimSpace(firstWords(f.goal, most)), "anything")
	}
	return strings.Join(chosen, " ")
}

func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
