package videotest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"longhaul/internal/fakeserver"
)

// Script is how the jobs of a marker go. The zero value is a good job.
type Script struct {
	Start   []Reply // to the first submit with this marker, the second and so on, and the last for all that follow; none is a good one
	Polls   []Step  // of each job, likewise
	Content []Reply // to downloads of each job, likewise
	Delete  Reply   // to a wish to cancel, instead of what Ark does
}

// Step is how one poll of a job is answered: with a state, or with a reply of its own.
type Step struct {
	State    string // in the words of Ark, which the dialects put into their own; any other word is told as it is
	Progress any    // told as it is; nil is not told
	NoURL    bool   // a success without saying where
	URL      string // a success there, and not at the provider
	Code     string // of a failure
	Message  string // likewise
	Reply    Reply  // one with a status, or that is lost, tells no state
}

// Reply is how one call is answered, once its job is made or found.
type Reply struct {
	Status  int // 0 means that the answer is a good one
	Type    string
	Body    string
	Header  map[string]string
	Delay   time.Duration // before anything is sent; the client's leaving ends it
	Lost    bool          // the connection is reset instead of the answer. A job is made all the same
	Unmade  bool          // of a start: no job is made, whatever the answer is
	HalfWay bool          // of a download: the connection is closed in the middle
}

// Forever is a delay that only the client's leaving ends.
const Forever = fakeserver.Forever

// Queued is a job that waits for its turn.
func Queued() Step { return Step{State: "queued"} }

// Running is a job that is being rendered. Progress is a number, words, or nil.
func Running(progress any) Step { return Step{State: "running", Progress: progress} }

// Succeeded is a job whose video is there.
func Succeeded() Step { return Step{State: "succeeded", Progress: 100} }

// Failed is a job that came to nothing.
func Failed(code, message string) Step { return Step{State: "failed", Code: code, Message: message} }

// Say is a job whose state is called by a word.
func Say(word string) Step { return Step{State: word} }

// Answer is a poll that is answered with a status and a body.
func Answer(status int, body string) Step { return Step{Reply: Fail(status, body)} }

// Fail is a reply with a status and a body; a start makes no job by it.
func Fail(status int, body string) Reply {
	return Reply{Status: status, Body: body, Unmade: true}
}

// Refuse is a reply with an error as providers write one.
func Refuse(status int, code, message string) Reply {
	return Fail(status, fmt.Sprintf(`{"error":{"code":%s,"message":%s}}`, fakeserver.Quote(code), fakeserver.Quote(message)))
}

// With adds a header.
func (r Reply) With(name, value string) Reply {
	header := map[string]string{name: value}
	maps.Copy(header, r.Header)
	r.Header = header
	return r
}

// Film is the video of a prompt. It begins as an MP4 file does, and is none.
func Film(prompt string) []byte {
	sum := sha256.Sum256([]byte(prompt))
	return []byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp41" + strings.Repeat(fmt.Sprintf("%x", sum), 64))
}

// good is how a job goes when nothing is scripted.
var good = []Step{Queued(), Running(45), Succeeded()}

// step returns the nth step, from 1.
func (s Script) step(nth int) Step {
	if len(s.Polls) == 0 {
		return fakeserver.Nth(good, nth)
	}
	return fakeserver.Nth(s.Polls, nth)
}

// zero reports whether nothing was said.
func (r Reply) zero() bool { return r.Status == 0 && r.Delay == 0 && !r.Lost }

// over reports whether a job in this state stays in it.
func over(state string) bool {
	return state == "succeeded" || state == "failed" || state == "cancelled" || state == "expired"
}

// write sends a reply that is not the good one, and reports whether it was one.
func (r Reply) write(w http.ResponseWriter, req *http.Request) bool {
	if r.Delay > 0 && !fakeserver.Pause(req, r.Delay) {
		panic(http.ErrAbortHandler)
	}
	if r.Lost {
		panic(http.ErrAbortHandler) // net/http closes the connection without an answer
	}
	if r.Status == 0 {
		return false
	}
	w.Header().Set("Content-Type", cmp.Or(r.Type, fakeserver.ContentType(r.Body)))
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write([]byte(r.Body)) // an error here is a client that went away
	return true
}
