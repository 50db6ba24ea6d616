package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// mostTools is how many tools a model is told of at most: providers take no more.
const mostTools = 128

// Define makes the definitions of the tools that a task names, in their order. MCP servers are asked what they have.
//
// The error is ctx's own or a *task.Error: Invalid, with every mistake at its place below /input/tools, or
// Unavailable when a server does not answer.
func (k *Kit) Define(ctx context.Context, specs []task.ToolSpec) ([]Definition, error) {
	var all []Definition
	var wrong faults
	for i, spec := range specs {
		found, err := k.define(ctx, spec)
		if refused, ok := errors.AsType[fault](err); ok {
			wrong.add(i, refused)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if other := slices.IndexFunc(all, func(o Definition) bool { return o.Name == d.Name }); other >= 0 {
				wrong.add(i, fault{detail: fmt.Sprintf("a tool named %s is there already; name each tool once", d.Name)})
				break
			}
			all = append(all, d)
		}
	}
	if len(all) > mostTools {
		wrong.add(len(specs)-1, fault{detail: fmt.Sprintf(
			"these are %d tools, and models take at most %d; name those that are wanted of an MCP server with only", len(all), mostTools)})
	}
	return all, wrong.err()
}

func (k *Kit) define(ctx context.Context, spec task.ToolSpec) ([]Definition, error) {
	if len(spec.Only) > 0 && spec.MCP == "" {
		return nil, fault{"/only", "is for the tools of an MCP server; leave it out"}
	}
	switch {
	case spec.Builtin != "":
		d, ok := defineBuiltin(spec)
		if !ok {
			return nil, fault{"/builtin", schema.Unknown("builtin tool", spec.Builtin, builtinNames())}
		}
		return []Definition{d}, nil
	case spec.HTTP != nil:
		d, err := k.defineHTTP(spec, HTTPTool{HTTPTool: *spec.HTTP})
		return []Definition{d}, within("/http", err)
	case spec.Configured != "":
		t, ok := k.http[spec.Configured]
		if !ok {
			return nil, fault{"/configured", schema.Unknown("configured tool", spec.Configured, slices.Sorted(maps.Keys(k.http)))}
		}
		d, err := k.defineHTTP(spec, t)
		return []Definition{d}, within("/configured", err)
	case spec.MCP != "":
		s, ok := k.mcp[spec.MCP]
		if !ok {
			return nil, fault{"/mcp", schema.Unknown("MCP server", spec.MCP, slices.Sorted(maps.Keys(k.mcp)))}
		}
		return s.define(ctx, spec)
	}
	return nil, fault{detail: "needs exactly one of builtin, http, configured and mcp"}
}

func (k *Kit) defineHTTP(spec task.ToolSpec, t HTTPTool) (Definition, error) {
	if err := k.checkHTTP(t.HTTPTool); err != nil {
		return Definition{}, err
	}
	return Definition{
		Name: t.Name, Description: t.Description, Parameters: parameters(t.Parameters),
		Approval: needsApproval(spec.Approval, t.Approval, t.reads()), Safe: t.reads(), Spec: spec,
	}, nil
}

// needsApproval lets the stricter of the task and the configuration decide; where neither does, what a tool may do.
func needsApproval(asked, configured task.Approval, safe bool) bool {
	switch {
	case asked == task.Always || configured == task.Always:
		return true
	case asked == task.Never || configured == task.Never:
		return false
	}
	return !safe
}

// parameters is a schema as the model is shown it; a tool without one takes no arguments.
func parameters(given map[string]any) json.RawMessage {
	if len(given) == 0 {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	raw, err := json.Marshal(given)
	if err != nil { // it was JSON before
		panic(fmt.Sprintf("parameters of a tool: %v", err))
	}
	return raw
}

// fault is a mistake in one tool of a task.
type fault struct{ pointer, detail string }

func (f fault) Error() string { return strings.TrimPrefix(f.pointer+": ", ": ") + f.detail }

// within moves a fault below a place, and leaves every other error as it is.
func within(place string, err error) error {
	if f, ok := errors.AsType[fault](err); ok {
		return fault{place + f.pointer, f.detail}
	}
	return err
}

// faults are all mistakes in the tools of a task.
type faults []task.FieldError

func (f *faults) add(index int, one fault) {
	*f = append(*f, task.FieldError{Pointer: fmt.Sprintf("/input/tools/%d%s", index, one.pointer), Detail: one.detail})
}

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	var said []string
	for _, one := range f {
		said = append(said, one.Pointer+": "+one.Detail)
	}
	e := task.Errorf(task.Invalid, "%s", strings.Join(said, "; "))
	e.Errors = f
	return e
}
