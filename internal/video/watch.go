package video

import (
	"errors"
	"slices"
	"time"

	"longhaul/internal/spell"
)

// How long a provider may take with what should be there at once.
const (
	Appears = time.Minute      // from the start of a job until it is not unknown any more
	Settles = 10 * time.Second // from success until the address of the video is told
)

// Watch is what to remember from one poll of a job to the next. The zero value has seen nothing. It is plain
// data, so it may wait in a heartbeat or in a workflow.
type Watch struct {
	Percent   int       `json:"percent"` // the highest that was told
	Succeeded time.Time `json:"succeeded,omitzero"`
	Words     []string  `json:"words,omitempty"`  // that were not understood
	Misses    int       `json:"misses,omitempty"` // in a row: see Miss

	Age spell.Spell `json:"age,omitzero"` // of the job
}

// mostBetween is the longest that is believed to lie between two polls: a clock that was set, or a time without workers, takes no more
// of a job's time.
const mostBetween = 10 * time.Minute

// Aged is how old a job is by now that was made at a time.
func (w *Watch) Aged(since, now time.Time) time.Duration {
	if !w.Age.Begun() {
		w.Age = spell.Since(since, now)
	}
	return w.Age.Look(now, mostBetween)
}

// mostWords is how many words that are not understood are worth telling of one job.
const mostWords = 8

// mostMisses is how often in a row a provider must say that it knows no such job.
const mostMisses = 3

// Next is what to do after a poll.
type Next string

// What there is to do.
const (
	Poll  Next = "poll"
	Fetch Next = "fetch" // the content is there, or must be looked for where it usually is
	End   Next = "end"   // failed, or cancelled
)

// See takes in a poll made at a time, and tells whether the provider used a word that nobody knows, the first
// time it does.
func (w *Watch) See(job Job, at time.Time) (next Next, strange bool) {
	w.Misses = 0
	if job.Progress != nil {
		w.Percent = max(w.Percent, *job.Progress)
	}
	if !job.Known && len(w.Words) < mostWords && !slices.Contains(w.Words, job.Word) {
		w.Words, strange = append(w.Words, job.Word), true
	}
	switch job.State {
	case Failed, Cancelled:
		return End, strange
	case Succeeded:
		if w.Succeeded.IsZero() {
			w.Succeeded = at
		}
		if since := at.Sub(w.Succeeded); job.URL != "" || since >= Settles || since < 0 { // the clock was put back since
			w.Percent = 100
			return Fetch, strange
		}
	case Queued, Running:
	}
	return Poll, strange
}

// Miss takes in a poll that failed so long after the start of the job, and reports whether there is no such job:
// the provider has said so a few times in a row, and not only right after the start, when it may not know it yet.
func (w *Watch) Miss(err error, age time.Duration) (lost bool) {
	if !errors.Is(err, ErrNoJob) {
		w.Misses = 0
		return false
	}
	w.Misses++
	return w.Misses >= mostMisses && age >= Appears
}
