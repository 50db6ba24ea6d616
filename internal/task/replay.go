package task

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Scope says which items of a task are repeated.
type Scope string

// The scopes. Paid answers are reused in both, unless their request has changed.
const (
	ScopeFailed Scope = "failed" // only items that did not succeed
	ScopeAll    Scope = "all"    // every item
)

// ReplayOrder configures a replay of a task.
type ReplayOrder struct {
	Scope     Scope     `json:"scope,omitempty" jsonschema:"enum=failed,enum=all,default=failed,description=failed repeats the items that did not succeed\\, all repeats every item; paid answers are reused unless their request has changed"`
	Overrides Overrides `json:"overrides,omitzero" jsonschema:"description=changes for the replay"`
}

// Overrides are changes for a replay. Zero values change nothing.
type Overrides struct {
	Model    string          `json:"model,omitempty" jsonschema:"minLength=1,maxLength=200,description=the model to ask"`
	Budget   float64         `json:"budget,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1000000,description=maximum cost"`
	Deadline string          `json:"deadline,omitempty" jsonschema:"maxLength=32,example=2h,description=a duration from now"`
	Input    json.RawMessage `json:"input,omitempty" jsonschema:"description=JSON merge patch of the input: given fields replace existing fields\\, null removes a field"`
}

// Normalize fills in the defaults.
func (o *ReplayOrder) Normalize() { o.Scope = cmp.Or(o.Scope, ScopeFailed) }

// ReplayInfo describes a replay: the replayed task, and what is kept of it.
type ReplayInfo struct {
	Of    string `json:"of" doc:"id of the replayed task"`
	Scope Scope  `json:"scope" enum:"failed,all"`
	Kept  int    `json:"kept" doc:"number of succeeded items that are kept; other items may still reuse paid answers"`
}

// ReplayInput is the input of the kind replay, which replays dead letters. At least one of the first three fields
// selects them.
type ReplayInput struct {
	Fingerprint string   `json:"fingerprint,omitempty" jsonschema:"pattern=^[0-9a-f]{12}$,description=fingerprint of a group of dead letters"`
	Kind        string   `json:"kind,omitempty" jsonschema:"maxLength=64,description=kind of the dead letters"`
	IDs         []string `json:"ids,omitempty" jsonschema:"minItems=1,maxItems=5000,uniqueItems=true,pattern=^task_[a-z2-7]{26}$,description=ids of the dead letters"`
	Canary      *int     `json:"canary,omitempty" jsonschema:"minimum=0,maximum=100,default=1,description=number of replays that run first; if one of them fails again\\, no others are started"`
	PerMinute   int      `json:"per_minute,omitempty" jsonschema:"minimum=1,maximum=6000,default=600,description=maximum number of replays started per minute"`
	ReplayOrder
}

// Normalize fills in the defaults.
func (in *ReplayInput) Normalize() {
	in.ReplayOrder.Normalize()
	in.PerMinute = cmp.Or(in.PerMinute, 600)
	if in.Canary == nil {
		in.Canary = new(1)
	}
}

// FileIDs returns nil: the input has no files.
func (in *ReplayInput) FileIDs() map[string]string { return nil }

// Headline describes the input in one line, for lists of tasks.
func (in *ReplayInput) Headline() string {
	switch {
	case len(in.IDs) > 0:
		return fmt.Sprintf("Replay %d dead letters", len(in.IDs))
	case in.Fingerprint != "":
		return "Replay the dead letters of group " + in.Fingerprint
	default:
		return "Replay the dead letters of kind " + in.Kind
	}
}
