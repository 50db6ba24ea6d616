package record

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/task"
)

// Facts are the properties of a task that never change. They are written to the memo when the task starts.
type Facts struct {
	ID        string            `json:"id"`
	Kind      string            `json:"kind"`
	Tenant    string            `json:"tenant"`
	Lineage   string            `json:"lineage"` // id of the first task of a replay chain; the ledger is shared under it
	Labels    map[string]string `json:"labels,omitempty"`
	Priority  int               `json:"priority"`
	Model     string            `json:"model,omitempty"` // "" means the default
	Queue     string            `json:"queue,omitempty"` // of its model calls; "" means QueueLLM
	CreatedAt time.Time         `json:"created_at"`
	StartAt   *time.Time        `json:"start_at,omitempty"`
	Deadline  *time.Time        `json:"deadline,omitempty"`
	Budget    float64           `json:"budget,omitempty"`    // in the currency of the prices; 0 means none
	Parent    string            `json:"parent,omitempty"`    // id of the task that started it
	ReplayOf  string            `json:"replay_of,omitempty"` // id of the task it replays
	Scope     task.Scope        `json:"scope,omitempty"`     // of the replay
	Kept      int               `json:"kept,omitempty"`      // items taken over from the replayed task
	Keep      *Kept             `json:"keep,omitempty"`      // the task whose succeeded items are taken over
	Headline  string            `json:"headline,omitempty"`  // the input in one line, for lists
	InputKey  string            `json:"input_key"`           // of the input in the bucket
	Notify    string            `json:"notify,omitempty"`    // bucket key of the receivers of notifications
	BodyHash  string            `json:"body_hash,omitempty"` // of the request; tells a repeated request from a different one
}

// Attributes returns the search attributes of a task at its start.
func (f Facts) Attributes(first Snapshot) temporal.SearchAttributes {
	var labels []string
	for _, key := range workflow.DeterministicKeys(f.Labels) {
		labels = append(labels, key+":"+f.Labels[key])
	}
	return temporal.NewSearchAttributes(
		AttrTenant.ValueSet(f.Tenant), AttrKind.ValueSet(f.Kind), AttrState.ValueSet(string(first.State)), AttrLabels.ValueSet(labels))
}

// CheckBudget refuses a budget when the price of the model is unknown. Pointer is the JSON Pointer of the object
// that asked for the budget.
func (f Facts) CheckBudget(pointer string, priced func(kind, model string) bool) error {
	if f.Budget > 0 && (priced == nil || !priced(f.Kind, f.Model)) {
		return task.Errorf(task.Invalid, "the price of the model is not configured, so a budget cannot be kept: set llm.models, or the prices of video, or leave the budget out").At(pointer)
	}
	return nil
}

// Ref returns what the activities of the task need to know of it.
func (f Facts) Ref() TaskRef {
	return TaskRef{ID: f.ID, Tenant: f.Tenant, Lineage: f.Lineage, Model: f.Model, Queue: f.Queue, Before: f.ReplayOf, Keep: f.Keep}
}

// TaskRef names the task that an activity works for.
type TaskRef struct {
	ID      string `json:"id"`
	Tenant  string `json:"tenant"`
	Lineage string `json:"lineage"`          // the ledger is shared under it
	Model   string `json:"model,omitempty"`  // "" means the default
	Queue   string `json:"queue,omitempty"`  // of its model calls; "" means QueueLLM
	Before  string `json:"before,omitempty"` // id of the task it replays
	Keep    *Kept  `json:"keep,omitempty"`   // the task whose succeeded items are taken over
}

// Kept names a task whose succeeded items a replay takes over unchanged.
type Kept struct {
	ID       string `json:"id"`
	InputKey string `json:"input_key"`
	Model    string `json:"model,omitempty"`
}

// PlanRequest asks an activity to plan the work of a task from its input.
type PlanRequest struct {
	Task     TaskRef `json:"task"`
	InputKey string  `json:"input_key"`
}
