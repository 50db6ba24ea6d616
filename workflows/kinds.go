package workflows

import (
	"encoding/json"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// Kind is a sort of task.
type Kind struct {
	Name        string // of the kind, the workflow type and the API; it is for ever
	Title       string
	Description string
	Steps       []string
	Input       func() Input // an empty input to decode into
	Example     string       // a POST /v1/tasks body

	StepOf map[string]string // the step that each of its activities belongs to
	Hears  bool              // messages may be sent to it while it runs
	Rows   bool              // its items are the rows of a file
	NoChat bool              // the model that it asks is none that talks

	check    func(Input) error // refuses an input for what its schema cannot tell; nil takes any
	run      func(workflow.Context, Start) (Ending, error)
	children map[string]any // its child workflows, by name
}

// Input is what the input of every kind can do.
type Input interface {
	Normalize()                 // fill in the defaults
	FileIDs() map[string]string // the uploads it names, by JSON Pointer
	Headline() string           // itself in a line, for a list of tasks
}

// Follower is an input that can go on from an earlier task of its kind and tenant.
type Follower interface {
	Previous() (id, pointer string) // "" for none, and where the input says so
}

// Listed is an input of which each entry is an item of the task, in their order.
type Listed interface {
	Items() int
}

// Kinds is every kind this build can run. Adding one is a line here, and its file.
func Kinds() []Kind {
	return []Kind{summaryKind(), agentKind(), qaKind(), videoKind(), generateKind(), classifyKind(), embedKind(), replayKind()}
}

// Register makes the kinds and their child workflows known to a worker, a replayer or a test.
func Register(r worker.WorkflowRegistry) {
	for _, kind := range Kinds() {
		r.RegisterWorkflowWithOptions(kind.run, workflow.RegisterOptions{Name: kind.Name})
		for name, child := range kind.children {
			r.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: name})
		}
	}
	registerNotify(r)
}

// Find gives the kind of a name.
func Find(name string) (Kind, bool) {
	for _, kind := range Kinds() {
		if kind.Name == name {
			return kind, true
		}
	}
	return Kind{}, false
}

// inherits is the model of a task of the kind that another one starts: the model of that one, if it is of the same sort.
func (k Kind) inherits(model string) string {
	if k.NoChat {
		return ""
	}
	return model
}

// Decode reads an input that is valid by the kind's schema, and fills in its defaults.
func (k Kind) Decode(raw json.RawMessage) (Input, error) {
	in := k.Input()
	if err := json.Unmarshal(raw, in); err != nil {
		return nil, task.Errorf(task.Invalid, "the input does not fit the kind %s: %s", k.Name, err)
	}
	in.Normalize()
	if k.check != nil {
		return in, k.check(in)
	}
	return in, nil
}

// Inputs reads the inputs of tasks that other tasks start.
type Inputs struct {
	Priced func(kind, model string) bool // whether it is known what a model costs; nil means never
}

// Again makes a task that runs another one again, of which the facts are given. It always has the same id.
func (i Inputs) Again(facts, input []byte, order task.ReplayOrder, kept int, now time.Time) (r activities.Replay, err error) {
	var before Facts
	if err := json.Unmarshal(facts, &before); err != nil {
		return r, err
	}
	f, in, err := Again(before, input, order, ReplayID(before.ID), kept, now)
	if err != nil {
		return r, err
	}
	if err := f.CheckBudget("/overrides", i.Priced); err != nil {
		return r, err
	}
	r = activities.Replay{ID: f.ID, Model: f.Model, InputKey: f.InputKey, Input: in, Headline: in.Headline()}
	r.Facts, err = json.Marshal(f)
	return r, err
}

// patched is an input with a JSON merge patch applied to it.
func (k Kind) patched(input, patch []byte) (Input, error) {
	if len(patch) == 0 {
		return k.Decode(input)
	}
	merged, err := jsonpatch.MergePatch(input, patch)
	if err != nil {
		return nil, task.Errorf(task.Invalid, "is no JSON merge patch: %s", err).At("/overrides/input")
	}
	return k.checked(merged, "/overrides/input")
}

// checked reads an input after it has checked it against the schema of its kind. Where it stands is for the error.
func (k Kind) checked(input []byte, at string) (Input, error) {
	compiled, err := schema.Compile(schema.Of(k.Input()))
	if err != nil {
		return nil, err
	}
	if found := compiled.Check(input); len(found) > 0 {
		for i, f := range found {
			found[i].Pointer = at + f.Pointer
		}
		return nil, task.Unfit(found)
	}
	return k.Decode(input)
}

// Prepare checks an input against the schema of its kind, and gives it with its defaults and its headline. The model and the budget are those of the
// task that starts it. An error of the input is a *task.Error.
func (i Inputs) Prepare(name string, raw []byte, model string, budget float64) (ready any, headline string, err error) {
	kind, ok := Find(name)
	if !ok || kind.Hears || kind.Name == KindReplay {
		return nil, "", task.Errorf(task.Invalid, "a task of kind %q cannot be started from here", name)
	}
	if f := (Facts{Kind: name, Model: kind.inherits(model), Budget: budget}); f.CheckBudget("", i.Priced) != nil {
		return nil, "", task.Errorf(task.Invalid, "a task of kind %q cannot be started from here: there is a budget, and what such a task costs is not known", name)
	}
	in, err := kind.checked(raw, "")
	if err != nil {
		return nil, "", err
	}
	return in, in.Headline(), nil
}
