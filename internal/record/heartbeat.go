package record

import (
	"time"

	"longhaul/internal/spell"
	"longhaul/internal/task"
)

// Heartbeat is the heartbeat details of an activity: its progress for readers and, for the next attempt after a
// crash, what the attempts so far met.
type Heartbeat struct {
	Stage   string    `json:"stage,omitempty"` // what is being done, for a person
	Done    int       `json:"done,omitempty"`  // of Total, in pages, rows or per cent
	Total   int       `json:"total,omitempty"`
	Bytes   int       `json:"bytes,omitempty"`   // of answer text received so far
	Waiting bool      `json:"waiting,omitempty"` // for a turn in the lane
	Moved   time.Time `json:"moved,omitzero"`    // when one of the fields above last changed

	Live *LiveText `json:"live,omitempty"` // the text being written; nil where none is shown
	Call CallState `json:"call,omitzero"`  // of a paid call
	Job  any       `json:"job,omitempty"`  // details of the kind's own, such as the state of a video job
}

// MovedSince reports whether a person would call the change from an earlier heartbeat progress.
func (h Heartbeat) MovedSince(earlier Heartbeat) bool {
	return h.Stage != earlier.Stage || h.Done != earlier.Done || h.Bytes != earlier.Bytes || h.Waiting != earlier.Waiting ||
		h.Call.Calls != earlier.Call.Calls || h.Call.Target != earlier.Call.Target || h.Job != earlier.Job
}

// LiveText is a text that a model is writing, from its beginning.
type LiveText struct {
	Item   *int   `json:"item,omitempty"` // whose result it becomes; nil for the task itself
	Text   string `json:"text,omitempty"` // all of it so far
	Key    string `json:"key,omitempty"`  // of the text in the bucket, instead of Text, when it is too long for a heartbeat
	Length int    `json:"length"`         // in bytes
}

// CallState is what the attempts at one paid call met so far. A retry continues from it.
type CallState struct {
	Calls     int    `json:"calls,omitempty"`     // provider calls begun
	InFlight  string `json:"in_flight,omitempty"` // ledger key of the call under way; left behind by a worker that died
	Lost      int    `json:"lost,omitempty"`      // calls whose worker died before they ended
	Errors    int    `json:"errors,omitempty"`    // calls that failed
	Throttled int    `json:"throttled,omitempty"` // calls that were told to wait
	Down      int    `json:"down,omitempty"`      // calls that reached no provider

	Throttling spell.Spell `json:"throttling,omitzero"` // since the first call that was told to wait
	Outage     spell.Spell `json:"outage,omitzero"`     // since the first in a row of calls that reached no provider

	Target       int              `json:"target,omitempty"`        // index of the provider that is asked
	ErrorsBefore int              `json:"errors_before,omitempty"` // of Errors, those of the providers before Target
	Defect       string           `json:"defect,omitempty"`        // ledger key of what was wrong with the last answer
	Wasted       task.Usage       `json:"wasted,omitzero"`         // by calls that gave no answer
	Tries        []task.FailedTry `json:"tries,omitempty"`         // the last failed calls
}

// Spent returns what the calls without an answer used. The use of a lost call is unknown.
func (s CallState) Spent() Spent {
	spent := Spent{Calls: s.Calls, Usage: s.Wasted}
	spent.Usage.UnmeteredCalls += int64(s.Lost)
	return spent
}
