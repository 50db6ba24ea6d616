package longhaul_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "longhaul"

// shut says which doors of a room are locked: what its code, tests aside, may not import. A room
// covers the folders below it, and a forbidden import the packages below it.
var shut = map[string][]string{
	"internal/task":          {module, "github.com", "golang.org", "go.temporal.io"},
	"internal/record":        outOf("internal/llm", "internal/document", "internal/storage", "internal/video", "internal/config"),
	"internal/localtemporal": {module, "github.com", "golang.org", "go.temporal.io"},

	"internal/router":    outOf("internal/llm/openai", "internal/document", "internal/storage", "internal/config", "go.temporal.io"),
	"internal/llm":       outOf("internal/document", "internal/storage", "internal/video", "go.temporal.io"),
	"internal/video":     outOf("internal/document", "internal/storage", "internal/lane", "go.temporal.io"),
	"internal/lane":      outOf("internal/llm", "internal/document", "internal/storage", "internal/video", "go.temporal.io"),
	"internal/guard":     outOf("internal/llm", "internal/document", "internal/storage", "internal/video", "internal/tool", "internal/notify", "internal/config", "go.temporal.io"),
	"internal/document":  outOf("internal/llm", "internal/storage", "internal/video", "internal/tool", "go.temporal.io"),
	"internal/tool":      outOf("internal/llm", "internal/router", "internal/lane", "internal/storage", "internal/config", "internal/cluster", "go.temporal.io"),
	"internal/notify":    outOf("internal/llm", "internal/document", "internal/router", "internal/lane", "internal/storage", "internal/video", "internal/config", "internal/cluster", "go.temporal.io"),
	"internal/storage":   outOf("internal/llm", "internal/document", "internal/video", "go.temporal.io"),
	"internal/config":    outOf("internal/llm", "internal/document", "internal/storage", "internal/tool", "go.temporal.io"),
	"internal/schema":    outOf("internal/llm", "internal/document", "internal/storage", "go.temporal.io"),
	"internal/cluster":   outOf("internal/llm", "internal/document"),
	"internal/cutoff":    {module + "/api", module + "/internal/app", module + "/internal/engine", module + "/activities", module + "/workflows", module + "/internal/storage"},
	"internal/metrics":   outOf("internal/llm", "internal/document", "internal/storage", "internal/config"),
	"internal/retrieval": outOf("internal/llm", "internal/storage", "go.temporal.io"),
	"internal/rows":      outOf("internal/llm", "internal/router", "internal/lane", "internal/video", "internal/tool", "internal/config", "internal/cluster", "go.temporal.io"),

	"activities": {
		module + "/workflows", module + "/api", module + "/worker", module + "/starter",
		module + "/internal/engine", module + "/internal/app", module + "/internal/config", "github.com/gin-gonic/gin",
	},
	"workflows": {
		"net", "os", "math/rand", "crypto/rand", "log", "log/slog", "sync",
		"go.temporal.io/sdk/client", "github.com/gin-gonic/gin", module + "/api", module + "/internal/document", module + "/internal/engine",
		module + "/internal/cluster", module + "/internal/config", module + "/internal/app", module + "/internal/llm/openai", module + "/internal/video/wire",
	},
	"internal/engine": {module + "/api", module + "/internal/app", module + "/internal/config", "github.com/gin-gonic/gin"},

	"api":     {module + "/activities", module + "/workflows", "go.temporal.io"},
	"client":  {"github.com", "golang.org", "go.temporal.io"}, // so a program that uses it needs no other module
	"starter": {"net/http", "go.temporal.io", "github.com/gin-gonic/gin"},
}

// only says what a room may import of this module, tests aside.
var only = map[string][]string{
	"client":   {module + "/internal/task"},
	"starter":  {module + "/client"},
	"examples": {module + "/client"},
}

// outOf locks a room of technology against the rooms above it and against what else is named.
func outOf(others ...string) []string {
	all := []string{"go.temporal.io/sdk/worker", "github.com/gin-gonic/gin"}
	for _, room := range []string{"api", "worker", "starter", "dev", "e2e", "workflows", "activities", "internal/app", "internal/engine"} {
		all = append(all, module+"/"+room)
	}
	for _, other := range others {
		if strings.HasPrefix(other, "internal/") {
			other = module + "/" + other
		}
		all = append(all, other)
	}
	return all
}

// doorkeepers are the rooms that only those named may enter, tests aside.
var doorkeepers = map[string][]string{
	"api":                    {"api", "internal/app", "dev"},
	"internal/app":           {"internal/app", "api", "worker", "starter", "dev"},
	"worker":                 {},
	"starter":                {},
	"dev":                    {},
	"e2e":                    {},
	"internal/localtemporal": {"dev"},
	"internal/workflowtest":  {},
	"temporal":               {},
	"tools":                  {},
}

func TestRooms_lockedDoors(t *testing.T) {
	for _, file := range sources(t) {
		for room, locked := range shut {
			if !within(file.path, room) {
				continue
			}
			for _, imported := range file.imports {
				for _, door := range locked {
					require.False(t, within(imported, door) && !slices.Contains(only[room], imported), "%s imports %s: the room %s must not know it", file.path, imported, room)
				}
			}
		}
	}
}

// kinds are the folders of workflows and activities that belong to one kind each, or to the notifications.
var kinds = []string{"summary", "qa", "agent", "video", "rows", "translate", "replay", "notify"}

// A kind knows neither another kind nor, from what the kinds share, any kind.
func TestRooms_kindsDoNotKnowEachOther(t *testing.T) {
	for _, file := range sources(t) {
		for _, room := range []string{"workflows", "activities"} {
			if !within(file.path, room) || path.Dir(file.path) == room {
				continue
			}
			own := path.Base(path.Dir(file.path))
			for _, imported := range file.imports {
				for _, kind := range kinds {
					// The lifecycle starts the notifications of every kind.
					allowed := kind == own || kind == "notify" && own == "lifecycle"
					of := within(imported, module+"/workflows/"+kind) || within(imported, module+"/activities/"+kind)
					require.False(t, of && !allowed, "%s imports %s: what two kinds need goes down, to lifecycle, call, documents or results", file.path, imported)
				}
			}
		}
	}
}

func TestRooms_onlyTheseDoors(t *testing.T) {
	for _, file := range sources(t) {
		for room, doors := range only {
			for _, imported := range file.imports {
				if within(file.path, room) && within(imported, module) {
					require.Contains(t, doors, imported, "%s imports %s: of this module the room %s may import nothing but %v", file.path, imported, room, doors)
				}
			}
		}
	}
}

func TestRooms_onlyTheNamedEnter(t *testing.T) {
	for _, file := range sources(t) {
		for _, imported := range file.imports {
			for room, guests := range doorkeepers {
				if !within(imported, module+"/"+room) {
					continue
				}
				welcome := slices.ContainsFunc(guests, func(guest string) bool { return within(file.path, guest) })
				require.True(t, welcome, "%s imports %s: nothing but %v may", file.path, imported, guests)
			}
		}
	}
}

func TestRooms_oneCommentEach(t *testing.T) {
	comments := map[string][]string{}
	for _, file := range sources(t) {
		folder := path.Dir(file.path)
		comments[folder] = append(comments[folder], file.comment...)
	}
	for folder, files := range comments {
		require.Len(t, files, 1, "%s needs exactly one package comment", folder)
	}
}

// TestModules_standAlone: what the root's dependencies and the Temporal server's are must not meet,
// and go.mod must mean the same to everybody.
func TestModules_standAlone(t *testing.T) {
	for _, work := range []string{"go.work", "temporal/go.work", "tools/go.work"} {
		require.NoFileExists(t, work)
	}
	for _, file := range []string{"go.mod", "temporal/go.mod", "tools/go.mod"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, `(?m)^\s*replace\b`, string(text), file)
		require.Equal(t, file == "temporal/go.mod", strings.Contains(string(text), "go.temporal.io/server v"), "%s: the server belongs to temporal alone", file)
	}
}

type source struct {
	path    string // from the root, with slashes
	imports []string
	comment []string // the path once more, if the file has the package comment
}

// sources reads every Go file of this repository but tests, whatever its build tags.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "data", "testdata"}, entry.Name())):
			return fs.SkipDir
		case filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, read(filepath.ToSlash(name), file))
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

func read(name string, file *ast.File) source {
	s := source{path: name}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		s.imports = append(s.imports, imported)
	}
	if file.Doc != nil {
		s.comment = []string{name}
	}
	return s
}

// within reports whether a path is a folder, or lies below it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}
