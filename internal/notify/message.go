package notify

import (
	"errors"
	"time"
)

// Message is what is sent, the same at every attempt.
type Message struct {
	ID   string
	Body []byte
}

// Answer is what came of one attempt.
type Answer struct {
	Status     int           // what the receiver answered, of HTTP or SMTP; 0 when it gave no answer
	RetryAfter time.Duration // how long it asked to be left alone; 0 when it did not
	Err        error         // why the message was not taken, in words that may be shown; nil when it was
	Final      bool          // no second attempt can help
	Gone       bool          // the receiver says that it wants no more of them
	Slow       bool          // the time was over before it answered
}

// refused makes the answer of an attempt that no second one can mend.
func refused(why string) Answer { return Answer{Err: errors.New(why), Final: true} }
