package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// What an agent may write: so many files of so many bytes each.
const (
	mostArtifacts    = 100
	mostArtifactSize = 4 << 20
)

// artifactTypes are what a browser may be told of a file that a model wrote. Nothing in it may run there.
var artifactTypes = map[string]string{
	".md": results.MarkdownType, ".csv": "text/csv; charset=utf-8", ".json": "application/json",
}

// writeArtifact keeps a file. One of the same name is replaced.
func (r *toolRun) writeArtifact(ctx context.Context) (tool.Result, error) {
	var file tool.WriteArtifactArguments
	if err := r.arguments(&file); err != nil {
		return tool.Result{}, err
	}
	switch {
	case !storage.ArtifactName(file.Name) || file.Name == agentReport || file.Name == agentTranscript:
		return *refusal("name: 1 to 100 letters, digits, dots, dashes or underscores, no dot first, no .attrs last, and neither %s nor %s: those are written in the end", agentReport, agentTranscript), nil
	case len(file.Content) > mostArtifactSize:
		return *refusal("content: %d bytes; at most %d", len(file.Content), mostArtifactSize), nil
	}
	files, err := r.Bucket.List(ctx, storage.ArtifactsPrefix(r.req.Task.ID))
	if err != nil {
		return tool.Result{}, err
	}
	known := slices.ContainsFunc(files, func(e storage.Entry) bool { return e.Name == file.Name })
	if len(files) >= mostArtifacts && !known {
		return *refusal("there are %d files already, and no more can be written", len(files)), nil
	}
	contentType, ok := artifactTypes[path.Ext(file.Name)]
	if !ok {
		contentType = "text/plain; charset=utf-8"
	}
	err = r.Bucket.Put(ctx, storage.ArtifactKey(r.req.Task.ID, file.Name), contentType, []byte(file.Content))
	return tool.Result{Text: fmt.Sprintf("written: %s, %d bytes", file.Name, len(file.Content))}, err
}

// readMore gives more of an earlier result than the conversation holds.
func (r *toolRun) readMore(ctx context.Context) (tool.Result, error) {
	var want tool.ReadMoreArguments
	if err := r.arguments(&want); err != nil {
		return tool.Result{}, err
	}
	var turn, call int
	if _, err := fmt.Sscanf(want.Call, "call_%d_%d", &turn, &call); err != nil || turn < 1 || call < 1 || turn > r.req.Turn {
		return *refusal("there is no call %q", want.Call), nil
	}
	var earlier callResult
	err := r.Bucket.GetJSON(ctx, storage.AgentCallKey(r.req.Task.ID, turn, call-1, "result.json"), &earlier)
	if errors.Is(err, storage.ErrNotFound) {
		return *refusal("the call %q has no result", want.Call), nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	text := []rune(earlier.Text)
	if want.Offset < 0 || want.Offset >= len(text) {
		return *refusal("the result has %d characters; the offset must be below that", len(text)), nil
	}
	rest := string(text[want.Offset:])
	part := strings.ToValidUTF8(rest[:min(len(rest), mostTold-200)], "")
	next := want.Offset + utf8.RuneCountInString(part)
	if next < len(text) {
		part += fmt.Sprintf("\n[%d characters follow, from offset %d]", len(text)-next, next)
	}
	return tool.Result{Text: part}, nil
}

// childResult is what a task came to that the call had started.
func (r *toolRun) childResult(ctx context.Context) (tool.Result, error) {
	data, err := r.Bucket.Get(ctx, storage.ResultKey(r.req.Child))
	if errors.Is(err, storage.ErrNotFound) {
		return *refusal("the task %s ended without a result", r.req.Child), nil
	}
	return tool.Result{Text: fmt.Sprintf("the task %s is done; its result:\n%s", r.req.Child, data)}, err
}

// ChildRequest asks to prepare a task that a tool call starts.
type ChildRequest struct {
	Task record.TaskRef `json:"task,omitzero"`
	Turn int            `json:"turn,omitempty"`
	Call int            `json:"call,omitempty"`
	ID   string         `json:"id,omitempty"` // of the task that will be

	Request string  `json:"request,omitempty"` // id of the request for input that was answered first; "": no request
	Budget  float64 `json:"budget,omitempty"`  // budget of the parent task; 0: unlimited
}

// Child is a task that can be started, or why not.
type Child struct {
	Kind     string `json:"kind,omitempty"`
	InputKey string `json:"input_key,omitempty"`
	Headline string `json:"headline,omitempty"`
	Model    string `json:"model,omitempty"`
	Steps    int    `json:"steps,omitempty"`   // of its kind
	Refused  string `json:"refused,omitempty"` // for the model; "" if it can be started
}

// PrepareChild checks the task that a call asks for, and lays its input into the bucket.
func (a *Activities) PrepareChild(ctx context.Context, req ChildRequest) (Child, error) {
	heart := call.StartHeartbeat(ctx, "preparing a task")
	defer heart.Stop()
	r := &toolRun{Activities: a, req: ToolRequest{Task: req.Task, Turn: req.Turn, Call: req.Call, Request: req.Request}, heart: heart}
	if err := r.load(ctx); err != nil {
		return Child{}, err
	}
	if refused := r.refused(); refused != nil {
		return Child{Refused: refused.Text}, nil
	}
	var want struct {
		Kind  string
		Input json.RawMessage
	}
	if err := r.arguments(&want); err != nil {
		return Child{}, err
	}
	ready, err := a.Kinds.Prepare(want.Kind, want.Input, req.Task.Model, req.Budget)
	if told, ok := errors.AsType[*task.Error](err); ok {
		return Child{Refused: wrongInput(told)}, nil
	}
	if err != nil {
		return Child{}, err
	}
	child := Child{
		Kind: want.Kind, InputKey: storage.InputKey(req.ID, "agent"), Headline: ready.Headline, Model: ready.Model, Steps: ready.Steps,
	}
	return child, a.Bucket.PutJSON(ctx, child.InputKey, ready.Input)
}

// wrongInput tells every fault of an input.
func wrongInput(e *task.Error) string {
	if len(e.Errors) == 0 {
		return "the task was not started: " + e.Detail
	}
	var faults []string
	for _, at := range e.Errors {
		faults = append(faults, at.Pointer+": "+at.Detail)
	}
	return "the task was not started: " + strings.Join(faults, "; ")
}
