package video

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"longhaul/internal/llm"
)

// Request is one job. Its JSON is what a ledger hashes, so what changes the video belongs here.
type Request struct {
	Model      string `json:"model"`
	Prompt     string `json:"prompt"`
	Image      *Image `json:"image,omitempty"`      // the first frame; nil is none
	Seconds    int    `json:"seconds,omitempty"`    // 0 lets the provider decide, as do the empty ones below
	Resolution string `json:"resolution,omitempty"` // such as 720p
	Aspect     string `json:"aspect,omitempty"`     // such as 16:9
	Seed       *int64 `json:"seed,omitempty"`

	// Callback is where a dialect that can is asked to tell of changes; "" is nowhere.
	Callback string `json:"-"`
	// Fence is our own name for this one paid job, which Find looks for when the answer to Start was lost.
	// It is sent along: at most 64 letters, digits, - and _, and no secret. "" sends none.
	Fence string `json:"-"`
}

// Image is a picture: its bytes with their type, or the address of one on the web.
type Image struct {
	URL         string `json:"url,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Data        []byte `json:"data,omitempty"`
}

// Address is the URL, or else a data URL of the bytes.
func (i Image) Address() string {
	if i.URL != "" {
		return i.URL
	}
	return "data:" + i.ContentType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// State says how a job stands.
type State string

// The states. The last three are final.
const (
	Queued    State = "queued"
	Running   State = "running" // also a state that is not known: see Job.Word
	Succeeded State = "succeeded"
	Failed    State = "failed" // also one that expired before it was done
	Cancelled State = "cancelled"
)

// Final reports whether a job in this state stays in it.
func (s State) Final() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Job is how a provider says that a job stands.
type Job struct {
	ID        string     `json:"id"`
	State     State      `json:"state"`
	Word      string     `json:"word,omitempty"`     // for State, in the provider's own words; "" when it told none
	Known     bool       `json:"known"`              // the word is one of those that are understood, or none was told
	Progress  *int       `json:"progress,omitempty"` // percent; nil was not told. It may go backwards: see Watch
	URL       string     `json:"url,omitempty"`      // of a finished video. It gives access to whoever has it, for a day or so
	Usage     llm.Usage  `json:"usage"`
	Error     *llm.Error `json:"error,omitempty"`          // of a failed job: its class says what another job can hope for
	Prompt    string     `json:"revised_prompt,omitempty"` // as the provider rewrote it
	Model     string     `json:"model,omitempty"`
	Seed      *int64     `json:"seed,omitempty"` // that was used
	Seconds   float64    `json:"seconds,omitempty"`
	Created   time.Time  `json:"created,omitzero"` // on the provider's clock
	Simulated bool       `json:"simulated,omitempty"`
}

// Content is what was downloaded.
type Content struct {
	Bytes       int64  `json:"bytes"`
	SHA256      string `json:"sha256"` // in hex
	ContentType string `json:"content_type"`
}

// Stop is what came of a wish to cancel.
type Stop string

// What can come of it.
const (
	Stopped     Stop = "stopped"     // it will not be rendered
	TooLate     Stop = "too_late"    // it was over before
	Unstoppable Stop = "unstoppable" // the provider goes on with it, and will charge for it
)

// Provider renders videos. Its errors are *llm.Error, or ctx's own; cancelling ctx closes the connection.
type Provider interface {
	// Start begins a job in exactly one HTTP request. After an error, Ambiguous tells whether there may be a job.
	Start(ctx context.Context, req Request) (Job, error)
	// Status asks once how a job stands. That it cannot be asked at the moment says nothing about the job, so
	// no error of it is final; ErrNoJob is behind one that says that there is no such job.
	Status(ctx context.Context, id string) (Job, error)
	// Content writes the video of a succeeded job to w, of which a part may be written when it fails. ErrMoved
	// is behind an error that another Status, for a fresh address, may mend. An error of w comes back as it is.
	Content(ctx context.Context, job Job, w io.Writer) (Content, error)
	// Cancel asks for an end, if there is anything left to end: it never removes a finished job.
	Cancel(ctx context.Context, id string) (Stop, error)
	// Find looks for the job that was started with the fence of req. A job may show a little after its start.
	// ErrCannotFind is behind the error of a provider that cannot be asked, or whose list is too long.
	Find(ctx context.Context, req Request) (job Job, found bool, err error)
}

// What may be behind an error.
var (
	ErrAmbiguous  = errors.New("the job may have been started")
	ErrNoJob      = errors.New("the provider knows no such job")
	ErrMoved      = errors.New("the video is not at its address")
	ErrCannotFind = errors.New("the provider has no way to look for a job")
)

// Ambiguous reports whether a failed Start may have started, and be charged for, a job: the request was
// on its way, and no answer says that nothing came of it.
func Ambiguous(err error) bool { return errors.Is(err, ErrAmbiguous) }
