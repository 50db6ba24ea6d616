package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"

	"longhaul/activities"
	"longhaul/internal/task"
)

// What the world reads of a task, and the names it is read by. All are for ever.
const (
	MemoFacts   = "facts"  // memo: Facts, written at the start
	MemoState   = "state"  // memo: Snapshot, written as the task goes on
	QueryStatus = "status" // query: Snapshot, exact where the memo may be a second old
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
	InputKey  string // of the input in the bucket
	BodyHash  string // of the request, to tell a repeated one from another
}

func (f Facts) task() activities.Task {
	return activities.Task{ID: f.ID, Tenant: f.Tenant, Lineage: f.Lineage, Model: f.Model, Queue: f.Queue}
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
	Video    *VideoCarry
}

// Ending is the result of every kind's workflow: what a Temporal user sees of it.
type Ending struct {
	Outcome task.Outcome
	Counts  task.Counts
	Usage   task.Usage
	Result  *activities.Stored
}
