package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

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

	run      func(workflow.Context, Start) (Ending, error)
	children map[string]any // its child workflows, by name
}

// Input is what the input of every kind can do.
type Input interface {
	Normalize()                 // fill in the defaults
	FileIDs() map[string]string // the uploads it names, by JSON Pointer
	Headline() string           // itself in a line, for a list of tasks
}

// Kinds is every kind this build can run. Adding one is a line here, and its file.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "summary", Title: "Summarise documents",
			Description: "Reads documents (PDF, DOCX, HTML, EPUB, Markdown, text, CSV) of any length and writes a summary of each, and a digest over all of them if asked.",
			Steps:       summarySteps,
			StepOf:      summaryActivities,
			Input:       func() Input { return new(task.SummaryInput) },
			Example:     `{"kind":"summary","input":{"documents":[{"name":"note","text":"The harbour was rebuilt in 1911. It is deeper now, and larger ships call."}],"words":100}}`,
			run:         Summary,
			children:    map[string]any{summaryGroup: SummaryGroup},
		},
		{
			Name: KindVideo, Title: "Render videos",
			Description: "Has a video rendered for each prompt, from a picture if there is one. Jobs of minutes or hours are followed, paid for once, and their files kept as artifacts.",
			Steps:       videoSteps,
			StepOf:      videoActivities,
			Input:       func() Input { return new(task.VideoInput) },
			Example:     `{"kind":"video","input":{"prompt":"a lighthouse at dusk, waves below"}}`,
			run:         Video,
		},
	}
}

// Register makes the kinds and their child workflows known to a worker, a replayer or a test.
func Register(r worker.WorkflowRegistry) {
	for _, kind := range Kinds() {
		r.RegisterWorkflowWithOptions(kind.run, workflow.RegisterOptions{Name: kind.Name})
		for name, child := range kind.children {
			r.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: name})
		}
	}
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

// Decode reads an input that is valid by the kind's schema, and fills in its defaults.
func (k Kind) Decode(raw json.RawMessage) (Input, error) {
	in := k.Input()
	if err := json.Unmarshal(raw, in); err != nil {
		return nil, task.Errorf(task.Invalid, "the input does not fit the kind %s: %s", k.Name, err)
	}
	in.Normalize()
	return in, nil
}
