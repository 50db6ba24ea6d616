package server_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/app"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// Every word that the pages ask for is in the table, in both languages, and so is all that Go names to them. What nothing says has none.
func TestWords(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("ui/words.js")
	require.NoError(t, err)
	words := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  "([^"]+)": \["(.*)", "(.*)"\],$`).FindAllStringSubmatch(string(table), -1) {
		require.NotContains(t, words, m[1], "twice")
		require.NotEmpty(t, m[2])
		require.NotEmpty(t, m[3])
		words[m[1]] = true
	}
	said := named(t)
	files, err := fs.Glob(os.DirFS("ui"), "*.js")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile("ui/" + file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\bt\("([\w.]+)"[,)]`).FindAllStringSubmatch(string(source), -1) {
			require.True(t, words[m[1]], "%s asks for %q", file, m[1])
			said[m[1]] = true
		}
		require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`, string(source), file)
	}
	for name := range said {
		require.True(t, words[name], "%q is said and has no words", name)
	}
	for name := range words {
		group, _, _ := strings.Cut(name, ".")
		closed := groups[group] != "" || group == "kind" || group == "step"
		require.True(t, said[name] || !closed, "%q has words and is never said", name)
	}
}

// What the forms show of the kinds and of the options has a name, and is told in Chinese too.
func TestWords_forms(t *testing.T) {
	t.Parallel()
	var known [2]string
	for i, file := range []string{"ui/words.js", "ui/sentences.js"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		known[i] = string(text)
	}
	told := func(sentence string) {
		quoted, err := json.Marshal(sentence)
		require.NoError(t, err)
		require.True(t, strings.Contains(known[1], "\n  "+string(quoted)+": "), "sentences.js has not %s", quoted)
	}
	var shown func(part any)
	shown = func(part any) {
		switch v := part.(type) {
		case map[string]any:
			if text, ok := v["description"].(string); ok {
				told(text)
			}
			properties, _ := v["properties"].(map[string]any)
			for name, inner := range properties {
				require.True(t, strings.Contains(known[0], "\n  \"field."+name+"\": "), "words.js has no field.%s", name)
				shown(inner)
			}
			shown(v["items"])
			shown(v["oneOf"])
		case []any:
			for _, inner := range v {
				shown(inner)
			}
		}
	}
	for _, kind := range app.Kinds() {
		told(kind.Title)
		told(kind.Description)
		for _, step := range kind.Steps {
			require.True(t, strings.Contains(known[0], "\n  \"step."+step+"\": "), "words.js has no step.%s", step)
		}
		var form any
		require.NoError(t, json.Unmarshal(kind.InputSchema, &form))
		shown(form)
	}
	var spec struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &spec))
	body, _ := spec.Components.Schemas["summary_task"].(map[string]any)
	require.NotEmpty(t, body["properties"])
	options, _ := body["properties"].(map[string]any)
	delete(options, "input")
	delete(body, "description") // the API tells it, the form does not
	shown(body)
}

// groups are the groups of words that have one for each constant of a type.
var groups = map[string]string{
	"status": "State", "item": "ItemStatus", "waiting": "WaitReason", "event": "EventType", "code": "Code", "delivery": "DeliveryStatus",
}

// named is all that Go names to the pages: the constants of those types, and the kinds with their steps.
func named(t *testing.T) map[string]bool {
	t.Helper()
	constants := constantsOf(t, "../../internal/task")
	said := map[string]bool{}
	for group, name := range groups {
		require.NotEmpty(t, constants[name], "task.%s has no constants", name)
		for _, value := range constants[name] {
			said[group+"."+value] = true
		}
	}
	for _, status := range constants["DeadStatus"] {
		said["dead."+status] = true
	}
	for _, kind := range workflows.Kinds() {
		said["kind."+kind.Name] = true
		for _, step := range kind.Steps {
			said["step."+step] = true
		}
	}
	return said
}

// constantsOf are the texts of a folder's constants, by the names of their types.
func constantsOf(t *testing.T, folder string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	files, err := filepath.Glob(folder + "/*.go")
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, typed := spec.Type.(*ast.Ident)
			value, literal := spec.Values[0].(*ast.BasicLit)
			if typed && literal {
				text, err := strconv.Unquote(value.Value)
				require.NoError(t, err)
				found[kind.Name] = append(found[kind.Name], text)
			}
			return true
		})
	}
	return found
}

// What the API publishes as an enumeration of a type has all its constants, and no others.
func TestEnumerations(t *testing.T) {
	t.Parallel()
	constants := constantsOf(t, "../../internal/task")
	for _, of := range []reflect.Type{reflect.TypeFor[task.Event](), reflect.TypeFor[task.Waiting](), reflect.TypeFor[task.DeadLetter]()} {
		for field := range of.Fields() {
			published, ok := field.Tag.Lookup("enum")
			if ok && field.Type.Name() != "string" {
				require.ElementsMatch(t, constants[field.Type.Name()], strings.Split(published, ","), "%s of %s", field.Name, of)
			}
		}
	}
}
