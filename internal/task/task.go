package task

import (
	"encoding/json"
	"math"
	"time"
)

// State is the state of a task. The last three are final.
type State string

// The states, in the order in which a task can have them.
const (
	Scheduled     State = "scheduled"      // accepted, waits for its start time
	Pending       State = "pending"        // accepted, not yet started by a worker
	Processing    State = "processing"     // started by a worker
	InputRequired State = "input_required" // waits for an answer from a person
	Paused        State = "paused"         // paused by a person
	Cancelling    State = "cancelling"     // cancel requested, not yet ended
	Succeeded     State = "succeeded"      // ended with a full or partial result
	Failed        State = "failed"         // ended without a result
	Cancelled     State = "cancelled"      // ended by a cancel
)

// States lists all states, in the order above.
func States() []State {
	return []State{Scheduled, Pending, Processing, InputRequired, Paused, Cancelling, Succeeded, Failed, Cancelled}
}

// Terminal reports whether the state is final: a final state never changes.
func (s State) Terminal() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Outcome is the completeness of the result of a task that has ended.
type Outcome string

// The outcomes. A running task has none ("").
const (
	Full    Outcome = "full"    // all items
	Partial Outcome = "partial" // some items; the others have an error
	None    Outcome = "none"    // no items
)

// Task is a run of a kind, as returned by GET, list, long poll and events.
type Task struct {
	ID          string            `json:"id"`
	Object      string            `json:"object" enum:"task"`
	Kind        string            `json:"kind"`
	Headline    string            `json:"headline,omitempty" doc:"description in one line"`
	Status      State             `json:"status"`
	Done        bool              `json:"done" doc:"true once the status is final"`
	Outcome     Outcome           `json:"outcome,omitempty"`
	Revision    int64             `json:"revision" doc:"increases with every visible change"`
	CreatedAt   time.Time         `json:"created_at"`
	ScheduledAt *time.Time        `json:"scheduled_at" doc:"requested start time"`
	StartedAt   *time.Time        `json:"started_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
	FinishedAt  *time.Time        `json:"finished_at"`
	DeadlineAt  *time.Time        `json:"deadline_at"`
	Labels      map[string]string `json:"labels"`
	Tenant      string            `json:"tenant"`
	Priority    int               `json:"priority" doc:"1 goes first, 5 last"`
	Model       string            `json:"model,omitempty"`
	Progress    Progress          `json:"progress"`
	Waiting     *Waiting          `json:"waiting" doc:"why the task makes no progress; null if it does"`
	Retrying    *Retrying         `json:"retrying" doc:"the failed call that is being retried"`
	Stalled     *Stalled          `json:"stalled" doc:"set after a long time without progress, with the reason"`
	Usage       Usage             `json:"usage"`
	Budget      *float64          `json:"budget" doc:"maximum cost, in the currency of the prices; null means no limit"`
	Parent      string            `json:"parent,omitempty" doc:"id of the task that started this task"`
	ReplayOf    string            `json:"replay_of,omitempty" doc:"id of the replayed task"`
	Replay      *ReplayInfo       `json:"replay,omitempty" doc:"what a replay keeps of the replayed task"`
	DeadLetter  bool              `json:"dead_letter" doc:"whether the task or some of its items failed: see /v1/dead-letters"`

	InputRequests map[string]InputRequest `json:"input_requests" doc:"requests for input from a person, by id"`

	Simulated bool            `json:"simulated,omitempty" doc:"true when the built-in simulated model answered"`
	Result    json.RawMessage `json:"result,omitempty" doc:"the result, up to 64 KiB"`
	ResultRef *ResultRef      `json:"result_ref,omitempty" doc:"reference to a result over 64 KiB"`
	Error     *Error          `json:"error"`
	URLs      URLs            `json:"urls"`
}

// InlineResultLimit is the maximum size of an inline result, in bytes.
const InlineResultLimit = 64 << 10

// Progress is the progress of a running task. Percent never decreases, and is at most 99 before the end.
type Progress struct {
	Percent   *int   `json:"percent"` // nil while the amount of work is unknown
	Step      string `json:"step"`    // name of a step of the kind
	StepIndex int    `json:"step_index" doc:"number of the step, from 1; 0 before the first step"`
	StepCount int    `json:"step_count"`
	Counts    Counts `json:"counts"`
	Message   string `json:"message"` // one sentence for a person
	ETA       *ETA   `json:"eta"`     // nil without an estimate
}

// ETA estimates the remaining time from the speed so far and from similar tasks that have ended.
type ETA struct {
	Seconds int64 `json:"seconds"`
	Low     int64 `json:"low" doc:"lower end of the 80 % interval, in seconds"`
	High    int64 `json:"high" doc:"upper end of the 80 % interval, in seconds"`
}

// Counts counts items. Total = Succeeded + Failed + Cancelled + Running + Pending, always.
type Counts struct {
	Total     int `json:"total"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"` // not finished because of a cancel; 0 while the task runs
	Running   int `json:"running"`
	Pending   int `json:"pending"`
}

// Waiting says why a task makes no progress, and until when if known.
type Waiting struct {
	Reason WaitReason `json:"reason" enum:"start_time,no_worker,rate_limit,blocked,paused"`
	Until  *time.Time `json:"until"`
	Detail string     `json:"detail,omitempty"`
}

// WaitReason is the reason for waiting.
type WaitReason string

// The reasons for waiting.
const (
	WaitStart   WaitReason = "start_time" // the start time is in the future
	WaitWorker  WaitReason = "no_worker"  // no worker polls
	WaitLimit   WaitReason = "rate_limit" // calls wait for a rate limit
	WaitBlocked WaitReason = "blocked"    // the running workers cannot continue the task
	WaitPaused  WaitReason = "paused"     // paused by a person
)

// Retrying describes the most recent failed attempt that is being retried.
type Retrying struct {
	Step        string     `json:"step"`    // the activity, in words for a person
	Attempt     int        `json:"attempt"` // the current or next attempt, from 1
	LastError   string     `json:"last_error"`
	NextAttempt *time.Time `json:"next_attempt_at"`
	Calls       int        `json:"calls" doc:"number of calls being retried"`
}

// Usage is the use of providers by a task. Answers reused from the ledger are not counted again.
type Usage struct {
	Requests       int64   `json:"requests"`      // answered calls
	InputTokens    int64   `json:"input_tokens"`  // as reported by the provider
	OutputTokens   int64   `json:"output_tokens"` // as reported by the provider
	CachedTokens   int64   `json:"cached_tokens"` // included in InputTokens
	WastedTokens   int64   `json:"wasted_tokens"` // tokens of calls without an answer; not included in the other fields
	VideoSeconds   float64 `json:"video_seconds,omitempty" doc:"seconds of paid videos"`
	UnmeteredCalls int64   `json:"unmetered_calls" doc:"calls without reported usage, because they were aborted or the provider never reports it; not included in tokens and cost"`
	Cost           *Cost   `json:"cost"` // cost of all tokens, including wasted tokens; nil if prices are unknown
}

// Add returns the sum of two usages. Both costs must have the same currency.
func (u Usage) Add(v Usage) Usage {
	u.Requests += v.Requests
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.CachedTokens += v.CachedTokens
	u.WastedTokens += v.WastedTokens
	u.VideoSeconds = sum(u.VideoSeconds, v.VideoSeconds)
	u.UnmeteredCalls += v.UnmeteredCalls
	switch {
	case u.Cost == nil:
		u.Cost = v.Cost
	case v.Cost != nil:
		u.Cost = &Cost{Amount: sum(u.Cost.Amount, v.Cost.Amount), Currency: u.Cost.Currency}
	}
	return u
}

// sum adds in units of 1e-12, so that a sum does not depend on the order of its parts. A token of the cheapest models
// costs about 10,000 units, and amounts up to about 9,000 are exact.
func sum(a, b float64) float64 {
	const unit = 1e12
	return (math.Round(a*unit) + math.Round(b*unit)) / unit
}

// Cost is an amount of money, in units of the currency.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// ResultRef refers to a result that is not inline.
type ResultRef struct {
	Href        string `json:"href"`
	ContentType string `json:"content_type"`
	Bytes       int64  `json:"bytes"`
	SHA256      string `json:"sha256"`
}

// URLs are the links of a task: paths of the API, except Temporal, which is a page of the Temporal Web UI and empty if
// its address is not configured.
type URLs struct {
	Self       string `json:"self"`
	Events     string `json:"events"`
	WS         string `json:"ws"`
	Cancel     string `json:"cancel"`
	Pause      string `json:"pause"`
	Resume     string `json:"resume"`
	Replay     string `json:"replay"`
	Input      string `json:"input"`
	Deliveries string `json:"deliveries"`
	Result     string `json:"result"`
	Items      string `json:"items"`
	Artifacts  string `json:"artifacts"`
	Timeline   string `json:"timeline"`
	Temporal   string `json:"temporal,omitempty"`
}

// Item is a unit of a batch with its own outcome.
type Item struct {
	ID        string          `json:"id"`
	Index     int             `json:"index"` // position in the input, from 0
	Status    ItemStatus      `json:"status"`
	Name      string          `json:"name,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *Error          `json:"error"`
	Usage     Usage           `json:"usage"`
	Attempts  int             `json:"attempts"` // calls for the item, including failed calls
	Model     string          `json:"model,omitempty" doc:"provider/model of the last answer"`
	Cached    bool            `json:"cached"` // all answers were reused from the ledger
	Simulated bool            `json:"simulated,omitempty"`
}

// ItemStatus is the status of an item.
type ItemStatus string

// An item is pending until it has one of the other three, which are final.
const (
	ItemPending   ItemStatus = "pending"
	ItemSucceeded ItemStatus = "succeeded"
	ItemFailed    ItemStatus = "failed"
	ItemCancelled ItemStatus = "cancelled"
)

// MaxPage is the maximum number of entries in a page of a list; DefaultPage is the default.
const (
	MaxPage     = 100
	DefaultPage = 20
)

// Page is a page of a list. NextCursor is nil on the last page.
type Page[T any] struct {
	Object     string  `json:"object" enum:"list"`
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"`
}

// Filter narrows a list of tasks. Zero values do not filter.
type Filter struct {
	Status State
	Kind   string
	Labels map[string]string // all must match
	Cursor string
	Limit  int
}

// ItemFilter narrows a list of items. Zero values do not filter.
type ItemFilter struct {
	Status ItemStatus
	Cursor string
	Limit  int
}

// Artifact is a file that a task produced.
type Artifact struct {
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"bytes"`
	CreatedAt   time.Time `json:"created_at"`
	Href        string    `json:"href"`
}

// File is an upload. Its id is derived from its bytes, so equal bytes are stored once per tenant.
type File struct {
	ID          string    `json:"id"`
	Object      string    `json:"object" enum:"file"`
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"bytes"`
	SHA256      string    `json:"sha256"`
	CreatedAt   time.Time `json:"created_at"`
}

// Draft is a task to be created: a parsed request.
type Draft struct {
	Tenant         string
	Kind           string
	Input          json.RawMessage // validated by the kind's schema
	IdempotencyKey string          // "" means none
	Options
}

// Options are the options of every kind.
type Options struct {
	Labels   map[string]string
	Priority int           // 1 (first) to 5 (last); 0 means 3
	StartAt  *time.Time    // earliest start; nil means now
	Delay    time.Duration // instead of StartAt
	Deadline *time.Time    // the task then ends with the results so far; nil means none
	Within   time.Duration // instead of Deadline: time after acceptance
	Model    string        // "" means the configured default
	Budget   float64       // maximum cost; 0 means no limit
	Webhook  *Webhook      `json:",omitempty"` // receiver besides the registered webhooks; nil means none
	Email    string        `json:",omitempty"` // mail receiver; "" means none
}

// KindInfo describes a kind for clients.
type KindInfo struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Steps       []string        `json:"steps"`
	InputSchema json.RawMessage `json:"input_schema"` // JSON Schema 2020-12, as enforced
	Example     json.RawMessage `json:"example"`      // a whole POST /v1/tasks body
}
