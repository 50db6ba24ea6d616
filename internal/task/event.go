package task

import "time"

// Event is one line of a task's timeline: something that happened, from the history.
type Event struct {
	At       time.Time `json:"at"`
	Type     EventType `json:"type" enum:"accepted,started,call_succeeded,call_failed,call_cancelled,group_started,group_ended,task_started,task_ended,paused,resumed,input,cancel_requested,continued,ended"`
	Summary  string    `json:"summary"`            // for a person
	Attempt  int       `json:"attempt,omitempty"`  // attempts used by a call that ended
	Duration float64   `json:"seconds,omitempty"`  // how long a call that ended took, with its waits
	Error    string    `json:"error,omitempty"`    // why it failed
	Activity string    `json:"activity,omitempty"` // the Temporal activity type
	Workflow string    `json:"workflow,omitempty"` // the Temporal workflow id it happened in
}

// EventType is what happened.
type EventType string

// What a timeline tells of.
const (
	EventAccepted        EventType = "accepted"
	EventStarted         EventType = "started"
	EventCallSucceeded   EventType = "call_succeeded"
	EventCallFailed      EventType = "call_failed" // for good, after all its attempts
	EventCallCancelled   EventType = "call_cancelled"
	EventGroupStarted    EventType = "group_started" // a workflow that does a part of the task
	EventGroupEnded      EventType = "group_ended"
	EventTaskStarted     EventType = "task_started" // a task of its own, on behalf of this one
	EventTaskEnded       EventType = "task_ended"
	EventPaused          EventType = "paused"
	EventResumed         EventType = "resumed"
	EventInput           EventType = "input" // a person answered, or said something
	EventCancelRequested EventType = "cancel_requested"
	EventContinued       EventType = "continued"
	EventEnded           EventType = "ended"
)
