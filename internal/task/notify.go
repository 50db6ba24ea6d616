package task

import (
	"slices"
	"time"
)

// Occasion is what happened to a task and may be told: the type of a message.
type Occasion string

// The occasions. The first four are ends, and of a task's end everybody hears once.
const (
	OnSucceeded     Occasion = "task.succeeded"      // ended with a result; the outcome says whether it is a partial one
	OnFailed        Occasion = "task.failed"         // ended without what was asked for
	OnCancelled     Occasion = "task.cancelled"      // ended because somebody asked
	OnDeadLettered  Occasion = "task.dead_lettered"  // failed, or items of it did: for those who want to hear of nothing else
	OnInputRequired Occasion = "task.input_required" // a person must answer before it goes on
	OnPing          Occasion = "ping"                // nothing: somebody tries whether messages arrive
)

// Occasions lists what can be asked for.
func Occasions() []Occasion {
	return []Occasion{OnSucceeded, OnFailed, OnCancelled, OnDeadLettered, OnInputRequired}
}

// Heard is what somebody who asked for some occasions is told when a task needs a person, or else has ended; none asked
// for means all. It is "" for what was not asked for.
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

// Webhook is where a task wants its messages sent.
type Webhook struct {
	URL    string     `json:"url"`
	Events []Occasion `json:"events,omitempty"` // none means all
	Secret string     `json:"secret,omitempty"` // whsec_…, or the id of a registered webhook that lends its own
}

// Endpoint is a registered address, which hears of every task of its tenant that is created after it.
type Endpoint struct {
	ID        string     `json:"id"`
	Object    string     `json:"object" enum:"webhook"`
	URL       string     `json:"url" doc:"where messages go: an http or https address, or mailto: and a mailbox"`
	Events    []Occasion `json:"events" doc:"what it hears of; empty means everything"`
	CreatedAt time.Time  `json:"created_at"`
	Disabled  *Disabled  `json:"disabled" doc:"why nothing is sent there any more; a test that arrives lifts it"`
	Secret    string     `json:"secret,omitempty" doc:"what messages are signed with; shown when it is made, and never again"`
}

// Disabled says why an endpoint gets nothing any more.
type Disabled struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Delivery is a message to one address, and what became of it. Its id is the message's own, and the same at every attempt.
type Delivery struct {
	ID            string         `json:"id"`
	Object        string         `json:"object" enum:"delivery"`
	Task          string         `json:"task_id"`
	Webhook       string         `json:"webhook_id,omitempty" doc:"the registered webhook that it is for, if it is for one"`
	Event         Occasion       `json:"event"`
	URL           string         `json:"url" doc:"where it goes, without what may be secret"`
	Status        DeliveryStatus `json:"status"`
	Detail        string         `json:"detail,omitempty" doc:"why it has this status, if the attempts do not tell"`
	CreatedAt     time.Time      `json:"created_at"`
	Attempts      []Attempt      `json:"attempts"`
	NextAttemptAt *time.Time     `json:"next_attempt_at"`
}

// DeliveryStatus says what became of a delivery.
type DeliveryStatus string

// A delivery is pending until it has one of the others; sent again by hand, it begins anew.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered" // its receiver took it
	DeliveryFailed    DeliveryStatus = "failed"    // given up, after the last attempt or for good
	DeliveryDisabled  DeliveryStatus = "disabled"  // its receiver said that it is gone
	DeliveryCancelled DeliveryStatus = "cancelled" // its webhook was removed
)

// DeliveryStatuses lists them all.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliveryDisabled, DeliveryCancelled}
}

// Attempt is one try to deliver. The one that runs has neither a status nor an error yet.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"status_code,omitempty" doc:"what the receiver answered, of HTTP or SMTP; left out when it gave no answer"`
	Error      string    `json:"error,omitempty"`
	Seconds    float64   `json:"seconds"`
}
