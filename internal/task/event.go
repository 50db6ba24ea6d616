package task

import "time"

// Event is an entry of a task's timeline, derived from the history.
type Event struct {
	At       time.Time `json:"at"`
	Type     EventType `json:"type" enum:"accepted,started,call_succeeded,call_failed,call_cancelled,group_started,group_ended,task_started,task_ended,paused,resumed,input,cancel_requested,continued,ended"`
	Summary  string    `json:"summary"`            // for a person
	Attempt  int       `json:"attempt,omitempty"`  // attempts used by a call that ended
	Duration float64   `json:"seconds,omitempty"`  // duration of a finished call, including waits
	Error    string    `json:"error,omitempty"`    // reason of a failure
	Activity string    `json:"activity,omitempty"` // the Temporal activity type
	Workflow string    `json:"workflow,omitempty"` // id of the Temporal workflow
}

// EventType is the type of an event.
type EventType string

// The event types.
const (
	EventAccepted        EventType = "accepted"
	EventStarted         EventType = "started"
	EventCallSucceeded   EventType = "call_succeeded"
	EventCallFailed      EventType = "call_failed" // after all attempts
	EventCallCancelled   EventType = "call_cancelled"
	EventGroupStarted    EventType = "group_started" // a child workflow for a part of the task
	EventGroupEnded      EventType = "group_ended"
	EventTaskStarted     EventType = "task_started" // a task started by this task
	EventTaskEnded       EventType = "task_ended"
	EventPaused          EventType = "paused"
	EventResumed         EventType = "resumed"
	EventInput           EventType = "input" // an answer or a message from a person
	EventCancelRequested EventType = "cancel_requested"
	EventContinued       EventType = "continued"
	EventEnded           EventType = "ended"
)
