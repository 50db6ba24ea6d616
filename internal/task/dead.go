package task

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// DeadLetter is a task that failed, completely or in some items, and waits for a person to replay or discard it. Its
// id is the id of the task.
type DeadLetter struct {
	ID       string            `json:"id" doc:"id of the task"`
	Object   string            `json:"object" enum:"dead_letter"`
	Status   DeadStatus        `json:"status" enum:"open,replayed,discarded"`
	Kind     string            `json:"kind"`
	Headline string            `json:"headline" doc:"description in one line"`
	Labels   map[string]string `json:"labels"`
	Model    string            `json:"model,omitempty"`
	At       time.Time         `json:"at" doc:"end of the task"`
	Outcome  Outcome           `json:"outcome"`
	Counts   Counts            `json:"counts"`
	Usage    Usage             `json:"usage" doc:"usage and cost of the task"`
	Error    *Error            `json:"error" doc:"error of the task; null if only some items failed"`
	Failures []Failure         `json:"failures" doc:"failures, most frequent first"`
	Cause    string            `json:"cause" doc:"likely cause of the most frequent failure"`
	Fix      string            `json:"fix" doc:"how to fix it"`
	Replay   ReplayCall        `json:"replay" doc:"request that replays the task"`
	ReplayOf string            `json:"replay_of,omitempty" doc:"id of the replayed task"`
	Replays  []ReplayNote      `json:"replays" doc:"replays so far"`
	Reason   string            `json:"reason,omitempty" doc:"reason for discarding it"`
}

// DeadStatus is the status of a dead letter.
type DeadStatus string

// A dead letter is open until it is replayed or discarded.
const (
	DeadOpen      DeadStatus = "open"
	DeadReplayed  DeadStatus = "replayed"
	DeadDiscarded DeadStatus = "discarded"
)

// Failure groups failures of a task or its items. Failures with one fingerprint have the same kind, step, error and
// provider, and so most likely the same cause.
type Failure struct {
	Fingerprint string      `json:"fingerprint"`
	Step        string      `json:"step"`
	Code        Code        `json:"code"`
	Provider    string      `json:"provider,omitempty"`
	Count       int         `json:"count" doc:"number of failed items; 1 for a task without items"`
	Example     FailedItem  `json:"example" doc:"the first failed item"`
	Tries       []FailedTry `json:"tries,omitempty" doc:"the last failed calls of the example"`
}

// FailedItem is an item that failed.
type FailedItem struct {
	Index *int   `json:"index" doc:"position in the input, from 0; null for the whole task"`
	Name  string `json:"name,omitempty"`
	Error *Error `json:"error"`
}

// FailedTry is a failed provider call.
type FailedTry struct {
	At     time.Time `json:"at"`
	Code   Code      `json:"code"`
	Said   string    `json:"said" doc:"message of the provider"`
	Target string    `json:"target,omitempty" doc:"provider/model of the call"`
}

// ReplayCall is the HTTP request that replays a task.
type ReplayCall struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
}

// ReplayNote is a replay of a dead letter.
type ReplayNote struct {
	TaskID string    `json:"task_id"`
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty" doc:"id of the bulk replay"`
}

// DeadGroup groups the open dead letters with one fingerprint.
type DeadGroup struct {
	Fingerprint string    `json:"fingerprint"`
	Kind        string    `json:"kind"`
	Step        string    `json:"step"`
	Code        Code      `json:"code"`
	Provider    string    `json:"provider,omitempty"`
	Tasks       int       `json:"tasks"`
	Items       int       `json:"items"`
	FirstSeen   time.Time `json:"first_seen"`
	LastSeen    time.Time `json:"last_seen"`
	Cause       string    `json:"cause"`
	Fix         string    `json:"fix"`
	Example     string    `json:"example" doc:"id of the newest dead letter"`
}

// DeadFilter narrows a list of dead letters. Zero values do not filter.
type DeadFilter struct {
	Status      DeadStatus
	Kind        string
	Fingerprint string
	Cursor      string
	Limit       int
}

// Fingerprint identifies failures that most likely have the same cause.
func Fingerprint(kind, step string, code Code, provider string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + step + "\x00" + string(code) + "\x00" + provider))
	return hex.EncodeToString(sum[:6])
}

// mostFailures is the maximum number of failure groups per task.
const mostFailures = 20

// CountFailure adds a failed item to the failures of a task.
func CountFailure(all []Failure, failed FailedItem) []Failure {
	f := Failure{Step: failed.Error.Step, Code: failed.Error.Code, Count: 1, Example: failed, Tries: failed.Error.Tries}
	if p := failed.Error.Provider; p != nil {
		f.Provider = p.Name
	}
	for i, known := range all {
		if known.Step == f.Step && known.Code == f.Code && known.Provider == f.Provider {
			all[i].Count++
			return all
		}
	}
	if len(all) < mostFailures {
		all = append(all, f)
	}
	return all
}

// Match reports whether a dead letter has a kind and a fingerprint; "" matches all.
func (d *DeadLetter) Match(kind, fingerprint string) bool {
	is := func(f Failure) bool { return f.Fingerprint == fingerprint }
	return (kind == "" || d.Kind == kind) && (fingerprint == "" || slices.ContainsFunc(d.Failures, is))
}

// Replayed records a replay. It is idempotent.
func (d *DeadLetter) Replayed(n ReplayNote) {
	d.Status = DeadReplayed
	if !d.ReplayedBy(n.TaskID) {
		d.Replays = append(d.Replays, n)
	}
}

// ReplayedBy reports whether a task is a replay of the dead letter.
func (d *DeadLetter) ReplayedBy(id string) bool {
	return slices.ContainsFunc(d.Replays, func(known ReplayNote) bool { return known.TaskID == id })
}
