package client_test

import (
	"go/constant"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/client"
)

// Another module cannot import the internal packages of this one. So every type that a program can reach from the package client
// has a name there, and so has every constant of such a type.
func TestExports_everythingHasAName(t *testing.T) {
	t.Parallel()
	self := path.Dir(reflect.TypeFor[client.Client]().PkgPath()) // of the module
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", exportData(t))
	pkg, err := compiled.Import(self + "/client")
	require.NoError(t, err)
	reached := reachable{module: self + "/", types: map[*types.TypeName]string{}}
	named := map[*types.TypeName]bool{}
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		reached.visit(object.Type(), name)
		if alias, ok := object.Type().(*types.Alias); ok {
			if target, ok := types.Unalias(alias).(*types.Named); ok {
				named[target.Origin().Obj()] = true
			}
		}
	}
	require.Greater(t, len(reached.types), 50)
	constants := 0
	for object, from := range reached.types {
		if object.Pkg() == pkg {
			require.True(t, object.Exported(), "%s is reached from client.%s", object.Name(), from)
			continue
		}
		require.True(t, named[object], "%s.%s is reached from client.%s and has no name in the package client", object.Pkg().Path(), object.Name(), from)
		home, err := compiled.Import(object.Pkg().Path()) // with the constants, which pkg alone does not load
		require.NoError(t, err)
		constants += requireConstants(t, pkg, home.Scope(), object)
	}
	require.Greater(t, constants, 80)
}

// requireConstants looks for the constants of a type in the package client, under the same names, and counts them.
func requireConstants(t *testing.T, pkg *types.Package, home *types.Scope, object *types.TypeName) (n int) {
	for _, name := range home.Names() {
		c, ok := home.Lookup(name).(*types.Const)
		if !ok || !c.Exported() || !types.Identical(c.Type(), object.Type()) {
			continue
		}
		n++
		ours, ok := pkg.Scope().Lookup(name).(*types.Const)
		require.True(t, ok, "the package client does not export the constant %s of %s", name, object.Name())
		require.True(t, types.Identical(ours.Type(), c.Type()), name)
		require.True(t, constant.Compare(ours.Val(), token.EQL, c.Val()), name)
	}
	return n
}

// reachable collects the named types of this module that a type leads to, with the name in the package client from which each was
// reached first.
type reachable struct {
	module string
	types  map[*types.TypeName]string
}

func (r reachable) visit(t types.Type, from string) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		r.named(t, from)
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() || field.Embedded() {
				r.visit(field.Type(), from)
			}
		}
	case *types.Signature:
		for parameter := range t.Params().Variables() {
			r.visit(parameter.Type(), from)
		}
		for result := range t.Results().Variables() {
			r.visit(result.Type(), from)
		}
	case *types.Map:
		r.visit(t.Key(), from)
		r.visit(t.Elem(), from)
	case interface{ Elem() types.Type }: // pointers, slices, arrays and channels
		r.visit(t.Elem(), from)
	}
}

func (r reachable) named(t *types.Named, from string) {
	for argument := range t.TypeArgs().Types() {
		r.visit(argument, from)
	}
	object := t.Origin().Obj()
	if object.Pkg() == nil || !strings.HasPrefix(object.Pkg().Path(), r.module) || r.types[object] != "" {
		return
	}
	r.types[object] = from
	r.visit(t.Origin().Underlying(), from)
	for method := range t.Origin().Methods() {
		if method.Exported() {
			r.visit(method.Signature(), from)
		}
	}
}

// exportData finds the compiled form of a package and of all that it imports.
func exportData(t *testing.T) importer.Lookup {
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", ".")
	out, err := list.Output()
	require.NoError(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[name] = file
	}
	return func(name string) (io.ReadCloser, error) { return os.Open(files[name]) }
}

// InputRequest.Kind has no type of its own; its values stand in its description.
func TestExports_kindsOfRequests(t *testing.T) {
	t.Parallel()
	field, ok := reflect.TypeFor[client.InputRequest]().FieldByName("Kind")
	require.True(t, ok)
	require.Equal(t, client.ApprovalRequest+","+client.QuestionRequest, field.Tag.Get("enum"))
}
