package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
)

// What the world reads of a task, and the names it is read by. All are for ever.
const (
	MemoFacts   = "facts"  // memo: Facts, written at the start
	MemoState   = "state"  // memo: Snapshot, written as the task goes on
	QueryStatus = "status" // query: Snapshot, exact where the memo may be a second old
	SignalInput = "input"  // signal: Said
)

// The search attributes, for lists and filters.
var (
	AttrTenant = temporal.NewSearchAttributeKeyKeyword("LonghaulTenant")
	AttrKind   = temporal.NewSearchAttributeKeyKeyword("LonghaulKind")
	AttrState  = temporal.NewSearchAttributeKeyKeyword("LonghaulState")
	AttrLabels = temporal.NewSearchAttributeKeyKeywordList("LonghaulLabels") // key:value
)

// Facts are what never changes about a task.
type Facts struct {
	ID        string
	Kind      string
	Tenant    string
	Lineage   string // id of the first of the tasks that share paid answers; its own
	Labels    map[string]string
	Priority  int
	Model     string // "" means the default
	Queue     string // of its model calls; "" means that of the first provider
	CreatedAt time.Time
	StartAt   *time.Time
	Deadline  *time.Time
	Budget    float64          // in the currency of the prices; 0 means none
	Parent    string           // id of the task that started it; "" for none
	ReplayOf  string           `json:",omitempty"` // id of the task that this one runs again; "" for none
	Scope     task.Scope       `json:",omitempty"` // of the replay
	Kept      int              `json:",omitempty"` // items of that task that succeeded, when they are kept
	Keep      *activities.Kept `json:",omitempty"` // whose succeeded items are kept; nil for none
	Headline  string           `json:",omitempty"` // the input in a line, for lists
	InputKey  string           // of the input in the bucket
	Notify    string           // key of who wants to hear of it; "" for nobody
	BodyHash  string           // of the request, to tell a repeated one from another
}

// Attributes are what lists and filters know of a task at its start.
func (f Facts) Attributes(first Snapshot) temporal.SearchAttributes {
	var labels []string
	for _, key := range workflow.DeterministicKeys(f.Labels) {
		labels = append(labels, key+":"+f.Labels[key])
	}
	return temporal.NewSearchAttributes(
		AttrTenant.ValueSet(f.Tenant), AttrKind.ValueSet(f.Kind), AttrState.ValueSet(string(first.State)), AttrLabels.ValueSet(labels))
}

// CheckBudget refuses a budget that cannot be kept, because nobody knows what the model costs. The pointer is where it was asked for.
func (f Facts) CheckBudget(pointer string, priced func(kind, model string) bool) error {
	if f.Budget > 0 && (priced == nil || !priced(f.Kind, f.Model)) {
		return task.Errorf(task.Invalid, "the price of the model is not configured, so a budget cannot be kept: set llm.models, or the prices of video, or leave the budget out").At(pointer)
	}
	return nil
}

func (f Facts) task() activities.Task {
	return activities.Task{ID: f.ID, Tenant: f.Tenant, Lineage: f.Lineage, Model: f.Model, Queue: f.Queue, Before: f.ReplayOf, Keep: f.Keep}
}

// Snapshot is what changes about a task. Revision rises with every change.
type Snapshot struct {
	Revision  int64
	State     task.State
	Outcome   task.Outcome
	StartedAt time.Time
	UpdatedAt time.Time
	Progress  task.Progress
	Usage     task.Usage
	Simulated bool
	Error     *task.Error
	Result    *activities.Stored
	Requests  map[string]task.InputRequest // that wait for a person, by id
	Started   task.Usage                   // of the tasks that it started and that ended; not part of its own
	Held      *Held                        `json:",omitempty"` // it is paused
	Dead      bool                         `json:",omitempty"` // it is among the dead letters
}

// Said tells a task that somebody said something to it: what it was is in the bucket.
type Said struct {
	Request string // the id of the request that was answered; "" for a message
	Message string // the key of the message
	Action  string `json:",omitempty"` // what was done with the request, for who reads the history
}

// FirstSnapshot is how a task stands between its acceptance and its first workflow task.
func FirstSnapshot(k Kind, f Facts) Snapshot {
	s := Snapshot{Revision: 1, State: task.Pending, UpdatedAt: f.CreatedAt, Progress: task.Progress{StepCount: len(k.Steps)}}
	if f.StartAt != nil {
		s.State = task.Scheduled
	}
	return s
}

// Start is the input of every kind's workflow. Snapshot, and what the kind takes along, are set only on
// a run that goes on where an earlier run of the same task left off, to keep histories short.
type Start struct {
	Facts    Facts
	Snapshot *Snapshot
	Summary  *SummaryCarry
	Agent    *AgentCarry
	QA       *QACarry
	Video    *VideoCarry
	Rows     *RowsCarry
	Replays  *ReplaysCarry `json:",omitempty"`
}

// Ending is the result of every kind's workflow: what a Temporal user sees of it.
type Ending struct {
	Outcome task.Outcome
	Counts  task.Counts
	Usage   task.Usage
	Result  *activities.Stored
}
