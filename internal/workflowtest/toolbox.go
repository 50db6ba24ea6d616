package workflowtest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// Toolbox is a set of tools that records its calls.
type Toolbox struct {
	mu    sync.Mutex
	calls []tool.Call

	Fail  map[string]error // by the arguments of the call; once each
	Extra int              // bytes that are added to each result
}

var anything = json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}`)

// Define implements activities.Toolbox.
func (k *Toolbox) Define(_ context.Context, specs []task.ToolSpec) ([]tool.Definition, error) {
	var all []tool.Definition
	for _, s := range specs {
		d := tool.Definition{Name: s.Builtin, Description: s.Builtin, Parameters: anything, Safe: true, Spec: s}
		switch {
		case s.HTTP != nil:
			d.Name, d.Safe = s.HTTP.Name, s.HTTP.Method == "GET"
		case s.Builtin == "ask_user":
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"},"choices":{"type":"array","items":{"type":"string"}}},"required":["question"]}`)
		case s.Builtin == "write_artifact":
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"content":{"type":"string"}},"required":["name","content"]}`)
		case s.Builtin == "search":
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`)
		case s.Builtin == "run_task":
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"kind":{"type":"string"},"input":{"type":"object"}},"required":["kind","input"]}`)
		case s.Builtin == "read_more":
			d.Parameters = json.RawMessage(`{"type":"object","properties":{"call":{"type":"string"},"offset":{"type":"integer"}},"required":["call","offset"]}`)
		}
		d.Approval = s.Approval == task.Always
		all = append(all, d)
	}
	return all, nil
}

// Run implements activities.Toolbox.
func (k *Toolbox) Run(_ context.Context, d tool.Definition, call tool.Call) (tool.Result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, call)
	if err := k.Fail[string(call.Arguments)]; err != nil {
		delete(k.Fail, string(call.Arguments))
		return tool.Result{}, err
	}
	return tool.Result{Text: d.Name + " of " + string(call.Arguments) + strings.Repeat(".", k.Extra)}, nil
}

// Made returns the arguments of the calls so far.
func (k *Toolbox) Made() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, c := range k.calls {
		all = append(all, string(c.Arguments))
	}
	return all
}

// Calls returns the calls so far.
func (k *Toolbox) Calls() []tool.Call {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.calls)
}
