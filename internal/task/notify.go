package task

import (
	"slices"
	"time"
)

// Occasion is an occurrence in a task that can be reported: the type of a message.
type Occasion string

// The occasions. The first four are ends; each receiver gets one message about the end of a task.
const (
	OnSucceeded     Occasion = "task.succeeded"      // ended with a full or partial result, see Outcome
	OnFailed        Occasion = "task.failed"         // ended without a result
	OnCancelled     Occasion = "task.cancelled"      // ended by a cancel
	OnDeadLettered  Occasion = "task.dead_lettered"  // failed completely or in some items; for receivers that only want failures
	OnInputRequired Occasion = "task.input_required" // waits for an answer from a person
	OnPing          Occasion = "ping"                // test message
)

// Occasions lists the occasions that can be requested.
func Occasions() []Occasion {
	return []Occasion{OnSucceeded, OnFailed, OnCancelled, OnDeadLettered, OnInputRequired}
}

// Heard returns the occasion to report to a receiver that asked for some occasions, when the task has ended or needs
// input; an empty list means all. It returns "" if the receiver did not ask for the occasion.
func (t Task) Heard(asked []Occasion) Occasion {
	wants := func(o Occasion) bool { return len(asked) == 0 || slices.Contains(asked, o) }
	happened := t.occasion()
	switch {
	case happened == "" || wants(happened):
		return happened
	case t.DeadLetter && t.Done && wants(OnDeadLettered):
		return OnDeadLettered
	default:
		return ""
	}
}

func (t Task) occasion() Occasion {
	switch t.Status {
	case Succeeded:
		return OnSucceeded
	case Failed:
		return OnFailed
	case Cancelled:
		return OnCancelled
	default:
		if len(t.InputRequests) > 0 {
			return OnInputRequired
		}
		return ""
	}
}

// Webhook is the address for the messages of a task.
type Webhook struct {
	URL    string     `json:"url"`
	Events []Occasion `json:"events,omitempty"` // empty means all
	Secret string     `json:"secret,omitempty"` // whsec_…, or the id of a registered webhook whose secret is used
}

// Endpoint is a registered address. It receives messages about every task of its tenant that is created after it.
type Endpoint struct {
	ID        string     `json:"id"`
	Object    string     `json:"object" enum:"webhook"`
	URL       string     `json:"url" doc:"receiver: an http or https address, or mailto: with a mail address"`
	Events    []Occasion `json:"events" doc:"reported occasions; empty means all"`
	CreatedAt time.Time  `json:"created_at"`
	Disabled  *Disabled  `json:"disabled" doc:"why sending is disabled; a successful test enables it"`
	Secret    string     `json:"secret,omitempty" doc:"signing secret; only returned at creation"`
}

// Disabled says why an endpoint receives no messages.
type Disabled struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Delivery is a message to one address with its status. Its id is the id of the message, the same at every attempt.
type Delivery struct {
	ID            string         `json:"id"`
	Object        string         `json:"object" enum:"delivery"`
	Task          string         `json:"task_id"`
	Webhook       string         `json:"webhook_id,omitempty" doc:"id of the registered webhook, if any"`
	Event         Occasion       `json:"event"`
	URL           string         `json:"url" doc:"address of the receiver, without secrets"`
	Status        DeliveryStatus `json:"status"`
	Detail        string         `json:"detail,omitempty" doc:"reason of the status, unless the attempts show it"`
	CreatedAt     time.Time      `json:"created_at"`
	Attempts      []Attempt      `json:"attempts"`
	NextAttemptAt *time.Time     `json:"next_attempt_at"`
}

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// A delivery is pending until it has another status; a resend makes it pending again.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered" // accepted by the receiver
	DeliveryFailed    DeliveryStatus = "failed"    // failed for good, or after the last attempt
	DeliveryDisabled  DeliveryStatus = "disabled"  // refused for good by the receiver (410 Gone)
	DeliveryCancelled DeliveryStatus = "cancelled" // the webhook was removed
)

// DeliveryStatuses lists all statuses.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliveryDisabled, DeliveryCancelled}
}

// Attempt is an attempt to deliver. A running attempt has neither status nor error.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"status_code,omitempty" doc:"HTTP or SMTP status of the receiver; absent without a response"`
	Error      string    `json:"error,omitempty"`
	Seconds    float64   `json:"seconds"`
}
