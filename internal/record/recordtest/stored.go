// Package recordtest compares what longhaul stores with golden files: the JSON of stored structs and the texts of
// prompts. A change of either reaches tasks in flight, so it must be a decision and not an accident.
package recordtest

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

const changed = `the JSON of %s has changed. Temporal and the bucket hold it under the old names: tasks in flight would lose what they
have and pay again. Keep the old names. If a release never stored it, or the change only adds a field: go test ./... -run Stored -update`

// Stored compares the JSON of each value's type with testdata/stored/<type>.json. It also requires that every field has
// a JSON name, which is the name of the field in snake case: one name can be found in the code, in Temporal and in the
// bucket.
func Stored(t *testing.T, values ...any) {
	t.Helper()
	for _, value := range values {
		kind := reflect.TypeOf(value)
		name := typeName(kind)
		requireNames(t, kind, map[reflect.Type]bool{})
		sample := reflect.New(kind).Elem()
		fill(sample, map[reflect.Type]bool{})
		text, err := json.MarshalIndent(sample.Interface(), "", "  ")
		require.NoError(t, err, name)
		compare(t, filepath.Join("testdata", "stored", name+".json"), string(text)+"\n", changed, kind)
	}
}

// Activities is Stored for the requests and the results of activities, and for further values.
func Activities(t *testing.T, queues map[string][]any, values ...any) {
	t.Helper()
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		for _, activity := range queues[queue] {
			values = append(values, payloads(reflect.TypeOf(activity))...)
		}
	}
	Stored(t, values...)
}

// Workflow is Stored for the input and the result of a workflow.
func Workflow(t *testing.T, workflow any) {
	t.Helper()
	Stored(t, payloads(reflect.TypeOf(workflow))...)
}

// payloads are zero values of the structs that a function takes and returns.
func payloads(function reflect.Type) (values []any) {
	for in := range function.Ins() {
		values = append(values, structs(in)...)
	}
	for out := range function.Outs() {
		values = append(values, structs(out)...)
	}
	return values
}

// ours reports whether a type belongs to this module.
func ours(kind reflect.Type) bool {
	module := strings.TrimSuffix(reflect.TypeFor[record.Facts]().PkgPath(), "/internal/record")
	return strings.HasPrefix(kind.PkgPath(), module+"/")
}

// owned reports whether a type exists only to be stored.
func owned(kind reflect.Type) bool {
	for _, room := range []string{"/activities/", "/workflows/", "/internal/record", "/internal/storage"} {
		if strings.Contains(kind.PkgPath(), room) {
			return true
		}
	}
	return false
}

// structs is the zero value of a type, or of its elements, if it is a struct of longhaul's.
func structs(kind reflect.Type) []any {
	for kind.Kind() == reflect.Slice || kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct || !ours(kind) {
		return nil
	}
	return []any{reflect.New(kind).Elem().Interface()}
}

// typeName is the name of a type without packages: Start[Carry] becomes StartCarry.
func typeName(kind reflect.Type) string {
	name := kind.Name()
	if base, arg, generic := strings.Cut(name, "["); generic {
		name = base + arg[strings.LastIndex(arg, ".")+1:len(arg)-1]
	}
	return name
}

func compare(t *testing.T, file, got, message string, args ...any) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		require.Fail(t, file+" is missing: go test ./... -run 'Stored|Prompts' -update")
	}
	require.NoError(t, err)
	require.Equal(t, string(want), got, append([]any{message}, args...)...)
}

// requireNames checks the JSON names of a struct and of the structs of longhaul within it. Types of packages such as
// internal/task and internal/llm are also those of an API, which has names of its own: their golden files hold them.
func requireNames(t *testing.T, kind reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		requireNames(t, kind.Elem(), seen)
	case reflect.Struct:
		if seen[kind] || !ours(kind) {
			return
		}
		seen[kind] = true
		for field := range kind.Fields() {
			if !field.IsExported() || field.Tag.Get("json") == "-" {
				continue
			}
			if !field.Anonymous && owned(kind) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				require.Equal(t, snake(field.Name), name, "%s.%s is stored as %q. A stored name is the name of its field in snake case; rename neither without the other", kind, field.Name, name)
			}
			requireNames(t, field.Type, seen)
		}
	}
}

// snake is a Go name in snake case: InputKey is input_key, SHA256 is sha256.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(strings.NewReplacer("URLs", "Urls", "JSONs", "Jsons", "IDs", "Ids").Replace(name))
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fill sets every field to a value that is not its zero value. A type within itself stays empty.
func fill(v reflect.Value, within map[reflect.Type]bool) {
	switch at := v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return
	case json.RawMessage:
		_ = at
		v.SetBytes([]byte(`{"any":"json"}`))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.String:
		v.SetString("text")
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf("any"))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), within)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), within)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, within)
		fill(value, within)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if within[v.Type()] {
			return
		}
		within[v.Type()] = true
		defer delete(within, v.Type())
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), within)
			}
		}
	}
}
