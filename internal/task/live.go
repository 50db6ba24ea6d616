package task

import "context"

// Feed delivers news about tasks in order. A slow reader misses intermediate states, never the newest.
type Feed interface {
	// Next waits for the next news. It returns io.EOF after the end of the tasks, or ctx.Err(); after the latter it
	// may be called again. It must not be called concurrently.
	Next(ctx context.Context) (News, error)
	// Close releases the resources of the feed.
	Close()
}

// News is an update for a live reader: the current state of a task, or more of a text being written. With Quiet set,
// the revision is unchanged: only what the task waits for or retries is new.
type News struct {
	Task  *Task
	Text  *Text
	Quiet bool
	Mark  int64 // position in a feed of many tasks, from which it can continue
}

// Text is a part of the text that a model is writing. A reader appends it; with Offset 0 it replaces the earlier
// parts, because the call is new or retried, or the reader has just connected.
type Text struct {
	Item    *int   `json:"item" doc:"index of the item; null for the result of the task"`
	Offset  int    `json:"offset" doc:"bytes of the text before this part"`
	Text    string `json:"text"`
	Restart bool   `json:"restart,omitempty" doc:"whether earlier text is discarded"`
}
