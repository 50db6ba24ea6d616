package lifecycle

import (
	"encoding/json"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"longhaul/activities"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// Kind is a sort of task: what the API, the workers and the dashboard know of it.
type Kind struct {
	Name        string // of the kind, of the workflow type and in the API; a stored name
	Title       string
	Description string
	Steps       []string     // in order, as readers see them
	Input       func() Input // an empty input to decode into
	Example     string       // a POST /v1/tasks body

	TakesMessages bool // people may send it texts while it runs
	HasRows       bool // its items are the rows of a file
	OwnModel      bool // its model is of another sort than a chat model, so tasks that start it do not pass theirs on

	Check      func(Input) error                        // refuses what the schema cannot; nil accepts all
	Workflow   any                                      // func(workflow.Context, record.Start[Carry]) (record.Ending, error)
	Children   map[string]any                           // child workflows by type
	Activities func(activities.Parts) activities.Queued // builds its activities

	// Simulate answers a prompt as the simulated model; ok is false for prompts of other kinds. Nil leaves the prompts to
	// internal/llm/simulated.
	Simulate func(system, user string) (answer string, ok bool)
}

// Input is what the input of every kind can do.
type Input interface {
	Normalize()                 // fills in the defaults
	FileIDs() map[string]string // the uploads it names, by JSON Pointer
	Headline() string           // describes it in one line, for lists
}

// Follower is an input that may continue from an earlier task of its kind and tenant.
type Follower interface {
	Previous() (id, pointer string) // id is "" when it does not; pointer is where the input names it
}

// Listed is an input whose entries are the items of the task, in order.
type Listed interface {
	Items() int
}

// Steps of several kinds.
const (
	StepFetch   = "fetch"
	StepExtract = "extract"
	StepStore   = "store"
)

// Inherit returns the model of a task of the kind that another task starts, given the model of the other.
func (k Kind) Inherit(model string) string {
	if k.OwnModel {
		return ""
	}
	return model
}

// Decode reads an input that is valid by the kind's schema, fills in its defaults and checks it.
func (k Kind) Decode(raw json.RawMessage) (Input, error) {
	in := k.Input()
	if err := json.Unmarshal(raw, in); err != nil {
		return nil, task.Errorf(task.Invalid, "the input does not fit the kind %s: %s", k.Name, err)
	}
	in.Normalize()
	if k.Check != nil {
		return in, k.Check(in)
	}
	return in, nil
}

// Validate checks an input against the schema of the kind and decodes it. Errors name places below the JSON Pointer.
func (k Kind) Validate(input []byte, pointer string) (Input, error) {
	compiled, err := schema.Compile(schema.Of(k.Input()))
	if err != nil {
		return nil, err
	}
	if found := compiled.Check(input); len(found) > 0 {
		for i, f := range found {
			found[i].Pointer = pointer + f.Pointer
		}
		return nil, task.Unfit(found)
	}
	return k.Decode(input)
}

// Patch applies a JSON merge patch to an input. An empty patch leaves the input as it is.
func (k Kind) Patch(input, patch []byte) (Input, error) {
	if len(patch) == 0 {
		return k.Decode(input)
	}
	merged, err := jsonpatch.MergePatch(input, patch)
	if err != nil {
		return nil, task.Errorf(task.Invalid, "the value is not a JSON merge patch: %s", err).At("/overrides/input")
	}
	return k.Validate(merged, "/overrides/input")
}
