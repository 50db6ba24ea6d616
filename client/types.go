package client

import "longhaul/internal/task"

// Task is one run of a kind. Revision rises with every change; Done is true once Status is final.
type Task = task.Task

// State is the status of a task; exactly one holds at a time.
type State = task.State

// The states, in the order in which a task can have them. The last three are final.
const (
	Scheduled     = task.Scheduled     // accepted, and waits for its start time
	Pending       = task.Pending       // accepted, and no worker has begun it
	Processing    = task.Processing    // a worker has begun it
	InputRequired = task.InputRequired // a person must answer: see Task.InputRequests
	Paused        = task.Paused        // a person paused it
	Cancelling    = task.Cancelling    // asked to stop, and not stopped yet
	Succeeded     = task.Succeeded     // has a result, which may be partial: see Task.Outcome
	Failed        = task.Failed
	Cancelled     = task.Cancelled
)

// Outcome is how much of the requested work a task has done when it ends; "" while it runs.
type Outcome = task.Outcome

// The outcomes.
const (
	Full    = task.Full
	Partial = task.Partial // some items; the others have an Error
	None    = task.None
)

// Parts of a Task.
type (
	Progress  = task.Progress
	Counts    = task.Counts
	ETA       = task.ETA
	Waiting   = task.Waiting  // why the task does not move
	Retrying  = task.Retrying // the failed attempt that is being repeated
	Stalled   = task.Stalled
	Usage     = task.Usage
	Cost      = task.Cost
	ResultRef = task.ResultRef
	URLs      = task.URLs
)

// WaitReason is why a task waits.
type WaitReason = task.WaitReason

// The reasons.
const (
	WaitStart   = task.WaitStart   // its start time
	WaitWorker  = task.WaitWorker  // no worker polls its queue
	WaitLimit   = task.WaitLimit   // the rate limit of a provider
	WaitBlocked = task.WaitBlocked // the running workers cannot execute it
	WaitPaused  = task.WaitPaused
)

// Text is a part of what a model is writing: a preview for a person, not the result. It is appended to the parts
// before it, or replaces them where Offset is 0.
type Text = task.Text

// InputRequest is a question, or a tool call to approve, that a task needs a person for.
type InputRequest = task.InputRequest

// The values of InputRequest.Kind.
const (
	ApprovalRequest = "approval"
	QuestionRequest = "question"
)

// Reply answers an InputRequest, or sends a message to an agent.
type Reply = task.Reply

// Action is what a Reply does.
type Action = task.Action

// The actions. Expire is not sent: a request that nobody answers in time ends with it.
const (
	Approve = task.Approve
	Deny    = task.Deny
	Respond = task.Respond // answers a question
	Tell    = task.Tell    // sends a message; Reply.Request is ""
	Expire  = task.Expire
)

// Item is one unit of a task with its own status, result and error.
type Item = task.Item

// ItemStatus is the status of an item.
type ItemStatus = task.ItemStatus

// The statuses of items. All but ItemPending are final.
const (
	ItemPending   = task.ItemPending
	ItemSucceeded = task.ItemSucceeded
	ItemFailed    = task.ItemFailed
	ItemCancelled = task.ItemCancelled
)

// Artifact describes a file that a task produced.
type Artifact = task.Artifact

// File describes an upload.
type File = task.File

// Page is one page of a list. NextCursor is nil on the last page.
type Page[T any] = task.Page[T]

// Filters of lists. Zero values do not filter; Limit is the size of a page, at most 100.
type (
	Filter     = task.Filter
	ItemFilter = task.ItemFilter
	DeadFilter = task.DeadFilter
)

// Event is one entry of a task's timeline.
type Event = task.Event

// EventType is what an Event reports.
type EventType = task.EventType

// The types of events.
const (
	EventAccepted        = task.EventAccepted
	EventStarted         = task.EventStarted
	EventCallSucceeded   = task.EventCallSucceeded
	EventCallFailed      = task.EventCallFailed // after its last attempt
	EventCallCancelled   = task.EventCallCancelled
	EventGroupStarted    = task.EventGroupStarted // a child workflow, which does a part of the task
	EventGroupEnded      = task.EventGroupEnded
	EventTaskStarted     = task.EventTaskStarted // a task that works for this task
	EventTaskEnded       = task.EventTaskEnded
	EventPaused          = task.EventPaused
	EventResumed         = task.EventResumed
	EventInput           = task.EventInput
	EventCancelRequested = task.EventCancelRequested
	EventContinued       = task.EventContinued
	EventEnded           = task.EventEnded
)

// KindInfo describes a kind of task, with the JSON Schema of its input.
type KindInfo = task.KindInfo

// System is the state of the installation: queues, workers, providers and tasks. A nil part could not be read.
type System = task.System

// Parts of System.
type (
	Queue      = task.Queue
	LaneState  = task.LaneState
	WorkerInfo = task.WorkerInfo
	KindLoad   = task.KindLoad
	Throughput = task.Throughput
	DeadLoad   = task.DeadLoad
)
