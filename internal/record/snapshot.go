package record

import (
	"time"

	"longhaul/internal/task"
)

// Snapshot is the state of a task that changes. Revision rises with every change; revision.go has the rule.
type Snapshot struct {
	Revision   int64                        `json:"revision"`
	State      task.State                   `json:"state"`
	Outcome    task.Outcome                 `json:"outcome,omitempty"`
	StartedAt  time.Time                    `json:"started_at,omitzero"`
	UpdatedAt  time.Time                    `json:"updated_at"`
	Progress   task.Progress                `json:"progress"`
	Usage      task.Usage                   `json:"usage"`
	Simulated  bool                         `json:"simulated,omitempty"`
	Error      *task.Error                  `json:"error,omitempty"`
	Result     *Stored                      `json:"result,omitempty"`
	Requests   map[string]task.InputRequest `json:"requests,omitempty"` // waiting for a person, by id
	Started    task.Usage                   `json:"started,omitzero"`   // of the ended tasks that it started; not part of Usage
	Held       *Held                        `json:"held,omitempty"`     // set while the task is paused
	DeadLetter bool                         `json:"dead_letter,omitempty"`
}

// FirstSnapshot is the state between acceptance and the first workflow task. Steps is the number of steps of its kind.
func FirstSnapshot(steps int, f Facts) Snapshot {
	s := Snapshot{Revision: 1, State: task.Pending, UpdatedAt: f.CreatedAt, Progress: task.Progress{StepCount: steps}}
	if f.StartAt != nil {
		s.State = task.Scheduled
	}
	return s
}

// Held says since when a task is paused, and why.
type Held struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
}

// Pause pauses or resumes a task and its child workflows.
type Pause struct {
	On     bool   `json:"on"`
	Reason string `json:"reason,omitempty"` // as given by the person who paused
}

// Message tells a workflow that a person answered a request or sent a text. The content is in the bucket.
type Message struct {
	Request string `json:"request,omitempty"` // id of the answered request; "" for a text
	Message string `json:"message,omitempty"` // bucket key of the text
	Action  string `json:"action,omitempty"`  // the decision, for readers of the history
}

// Stored describes a result in the bucket.
type Stored struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Start is the input of a kind's workflow. Snapshot and Carry are set when the workflow continues as new: Carry is
// the progress that the kind takes into its next run.
type Start[Carry any] struct {
	Facts    Facts     `json:"facts"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Carry    *Carry    `json:"carry,omitempty"`
}

// Ending is the result of a kind's workflow. A failed or cancelled workflow has it in the details of its error.
type Ending struct {
	Outcome task.Outcome `json:"outcome"`
	Counts  task.Counts  `json:"counts"`
	Usage   task.Usage   `json:"usage"`
	Result  *Stored      `json:"result,omitempty"`
}

// Spent is what an activity used without returning an answer. It is the last detail of the activity's error.
type Spent struct {
	Calls int        `json:"calls"`
	Usage task.Usage `json:"usage"`
}
