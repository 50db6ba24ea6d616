package task

import (
	"encoding/json"
	"math"
	"time"
)

// State says where a task stands. Exactly one holds at a time, and the last three are final.
type State string

// The states in the order a task can meet them.
const (
	Scheduled     State = "scheduled"      // accepted, and waiting for its start time
	Pending       State = "pending"        // accepted, and no worker has begun it yet
	Processing    State = "processing"     // a worker has begun it
	InputRequired State = "input_required" // a person must answer before it goes on
	Paused        State = "paused"         // held by a person
	Cancelling    State = "cancelling"     // asked to stop, and not stopped yet
	Succeeded     State = "succeeded"      // ended with a result, perhaps a partial one
	Failed        State = "failed"         // ended for good without what was asked for
	Cancelled     State = "cancelled"      // ended because somebody asked
)

// States lists every state once, in the order above.
func States() []State {
	return []State{Scheduled, Pending, Processing, InputRequired, Paused, Cancelling, Succeeded, Failed, Cancelled}
}

// Terminal reports whether the state is final: a task in it never changes again.
func (s State) Terminal() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Outcome says how much of what was asked for is there once a task has ended.
type Outcome string

// A task that ended has one of these; a running one has none yet ("").
const (
	Full    Outcome = "full"    // everything
	Partial Outcome = "partial" // some items; the others say why not
	None    Outcome = "none"    // nothing
)

// Task is one run of a kind, as every reader sees it: GET, list, long poll and events.
type Task struct {
	ID          string            `json:"id"`
	Object      string            `json:"object" enum:"task"`
	Kind        string            `json:"kind"`
	Headline    string            `json:"headline,omitempty" doc:"what it is about, in a line"`
	Status      State             `json:"status"`
	Done        bool              `json:"done" doc:"true once the status is final"`
	Outcome     Outcome           `json:"outcome,omitempty"`
	Revision    int64             `json:"revision" doc:"rises with every change a reader can see"`
	CreatedAt   time.Time         `json:"created_at"`
	ScheduledAt *time.Time        `json:"scheduled_at" doc:"when it may start, if that was asked for"`
	StartedAt   *time.Time        `json:"started_at"`
	UpdatedAt   time.Time         `json:"updated_at"`
	FinishedAt  *time.Time        `json:"finished_at"`
	DeadlineAt  *time.Time        `json:"deadline_at"`
	Labels      map[string]string `json:"labels"`
	Tenant      string            `json:"tenant"`
	Priority    int               `json:"priority" doc:"1 goes first, 5 last"`
	Model       string            `json:"model,omitempty"`
	Progress    Progress          `json:"progress"`
	Waiting     *Waiting          `json:"waiting" doc:"why nothing moves, if nothing does"`
	Retrying    *Retrying         `json:"retrying" doc:"what is being tried again, and why"`
	Stalled     *Stalled          `json:"stalled" doc:"since when nothing has moved, if that is long ago, and what it waits for"`
	Usage       Usage             `json:"usage"`
	Budget      *float64          `json:"budget" doc:"the most it may cost, in the currency of the prices; null is no limit"`
	Parent      string            `json:"parent,omitempty" doc:"the task that started it, if one did"`
	ReplayOf    string            `json:"replay_of,omitempty" doc:"the task that this one runs again"`
	Replay      *ReplayInfo       `json:"replay,omitempty" doc:"what a replay need not do again"`
	DeadLetter  bool              `json:"dead_letter" doc:"it failed for good, or items of it did: see /v1/dead-letters"`

	InputRequests map[string]InputRequest `json:"input_requests" doc:"what it needs a person for, by id"`

	Simulated bool            `json:"simulated,omitempty" doc:"true when the built-in simulated model answered"`
	Result    json.RawMessage `json:"result,omitempty" doc:"the result itself, up to 64 KiB"`
	ResultRef *ResultRef      `json:"result_ref,omitempty" doc:"where a larger result is"`
	Error     *Error          `json:"error"`
	URLs      URLs            `json:"urls"`
}

// InlineResultLimit is the largest result, in bytes, that a task carries inline.
const InlineResultLimit = 64 << 10

// Progress says how far a running task is. Percent never falls, and is at most 99 before the end.
type Progress struct {
	Percent   *int   `json:"percent"` // nil while the amount of work is unknown
	Step      string `json:"step"`    // the step's name, from the kind's steps
	StepIndex int    `json:"step_index" doc:"which of step_count it is, from 1; 0 before the first"`
	StepCount int    `json:"step_count"`
	Counts    Counts `json:"counts"`
	Message   string `json:"message"` // one sentence for a person
	ETA       *ETA   `json:"eta"`     // nil while it cannot be guessed
}

// ETA is an estimate of the time that is left, from the speed so far and from tasks like it that have ended here.
type ETA struct {
	Seconds int64 `json:"seconds"`
	Low     int64 `json:"low" doc:"seconds that it will take at the least, in four of five cases"`
	High    int64 `json:"high" doc:"seconds that it will take at the most, in four of five cases"`
}

// Counts counts items. Total = Succeeded + Failed + Cancelled + Running + Pending, always.
type Counts struct {
	Total     int `json:"total"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"` // left undone by a cancel; none while the task runs
	Running   int `json:"running"`
	Pending   int `json:"pending"`
}

// Waiting says why a task does not move, and until when if that is known.
type Waiting struct {
	Reason WaitReason `json:"reason" enum:"start_time,no_worker,rate_limit,blocked,paused"`
	Until  *time.Time `json:"until"`
	Detail string     `json:"detail,omitempty"`
}

// WaitReason is why a task waits.
type WaitReason string

// What a task can wait for.
const (
	WaitStart   WaitReason = "start_time" // its time has not come
	WaitWorker  WaitReason = "no_worker"  // nobody asks for work
	WaitLimit   WaitReason = "rate_limit" // its calls may not be made yet
	WaitBlocked WaitReason = "blocked"    // the workers that run cannot take it further
	WaitPaused  WaitReason = "paused"     // a person holds it
)

// Retrying tells of the attempt that failed last and is being made again.
type Retrying struct {
	Step        string     `json:"step"`    // the activity, in words a person reads
	Attempt     int        `json:"attempt"` // the attempt that runs or comes next, from 1
	LastError   string     `json:"last_error"`
	NextAttempt *time.Time `json:"next_attempt_at"`
	Calls       int        `json:"calls" doc:"how many calls are being retried at the moment"`
}

// Usage is what a task used of its providers. Answers found in the ledger are not counted again.
type Usage struct {
	Requests       int64   `json:"requests"`      // answered calls
	InputTokens    int64   `json:"input_tokens"`  // as told by the provider
	OutputTokens   int64   `json:"output_tokens"` // as told by the provider
	CachedTokens   int64   `json:"cached_tokens"` // part of InputTokens
	WastedTokens   int64   `json:"wasted_tokens"` // of calls that gave no answer; not part of the others
	VideoSeconds   float64 `json:"video_seconds,omitempty" doc:"of videos that were paid for"`
	UnmeteredCalls int64   `json:"unmetered_calls" doc:"calls whose usage the provider did not tell: they were broken off, or it never does; neither tokens nor cost has them"`
	Cost           *Cost   `json:"cost"` // of all tokens, the wasted ones too; nil: prices are not known
}

// Add sums two usages. Costs add only in one currency: a second currency is a caller's mistake.
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

// sum adds in whole billionths of a thousandth, so that a sum does not depend on the order of its parts.
// A token of the cheapest models costs some ten thousand of them, and nine thousand units of money fit.
func sum(a, b float64) float64 {
	const unit = 1e12
	return (math.Round(a*unit) + math.Round(b*unit)) / unit
}

// Cost is money, in units of the currency.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// ResultRef points at a result that is not inline.
type ResultRef struct {
	Href        string `json:"href"`
	ContentType string `json:"content_type"`
	Bytes       int64  `json:"bytes"`
	SHA256      string `json:"sha256"`
}

// URLs are the ways on from a task. They are paths on the API, except Temporal, which is a page
// of the Temporal Web UI and empty when its address is not configured.
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

// Item is one unit of a batch with its own outcome.
type Item struct {
	ID        string          `json:"id"`
	Index     int             `json:"index"` // position in the input, from 0
	Status    ItemStatus      `json:"status"`
	Name      string          `json:"name,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *Error          `json:"error"`
	Usage     Usage           `json:"usage"`
	Attempts  int             `json:"attempts"` // calls made for it, the failed ones included
	Model     string          `json:"model,omitempty" doc:"who gave the last answer: provider/model"`
	Cached    bool            `json:"cached"` // every answer came from the ledger
	Simulated bool            `json:"simulated,omitempty"`
}

// ItemStatus says where an item stands.
type ItemStatus string

// An item is pending until it has one of the other three for good.
const (
	ItemPending   ItemStatus = "pending"
	ItemSucceeded ItemStatus = "succeeded"
	ItemFailed    ItemStatus = "failed"
	ItemCancelled ItemStatus = "cancelled"
)

// MaxPage is the most entries of one page of any list; DefaultPage is what a page has unless asked.
const (
	MaxPage     = 100
	DefaultPage = 20
)

// Page is one page of a list. NextCursor is nil on the last one.
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

// Artifact is a file a task produced.
type Artifact struct {
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"bytes"`
	CreatedAt   time.Time `json:"created_at"`
	Href        string    `json:"href"`
}

// File is an upload. Its id is derived from its bytes, so the same bytes are stored once a tenant.
type File struct {
	ID          string    `json:"id"`
	Object      string    `json:"object" enum:"file"`
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Bytes       int64     `json:"bytes"`
	SHA256      string    `json:"sha256"`
	CreatedAt   time.Time `json:"created_at"`
}

// Draft is a task about to be created: what the API understood of a request.
type Draft struct {
	Tenant         string
	Kind           string
	Input          json.RawMessage // already valid by the kind's schema
	IdempotencyKey string          // "" means none
	Options
}

// Options are what every kind understands.
type Options struct {
	Labels   map[string]string
	Priority int           // 1 (first) to 5 (last); 0 means 3
	StartAt  *time.Time    // not before; nil means now
	Delay    time.Duration // instead of StartAt
	Deadline *time.Time    // the task ends by then with what it has; nil means none
	Within   time.Duration // instead of Deadline: so long after its acceptance
	Model    string        // "" means the configured default
	Budget   float64       // the most it may cost; 0 means no limit
	Webhook  *Webhook      `json:",omitempty"` // who is told how it goes; nil means nobody beside the registered ones
	Email    string        `json:",omitempty"` // who is told by mail; "" means nobody
}

// KindInfo describes a kind to those who want to start one.
type KindInfo struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Steps       []string        `json:"steps"`
	InputSchema json.RawMessage `json:"input_schema"` // JSON Schema 2020-12, the one that is enforced
	Example     json.RawMessage `json:"example"`      // a whole POST /v1/tasks body
}
