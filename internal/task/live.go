package task

import "context"

// Feed gives the news of tasks, one after the other. A reader that is slow misses states in between, never the newest.
type Feed interface {
	// Next waits for the next news. It is io.EOF after the end of what is told of, and ctx's error when that ends
	// first: then it may be called again. It is for one caller at a time.
	Next(ctx context.Context) (News, error)
	// Close lets go of what the feed follows.
	Close()
}

// News is what a live reader is told: a task as it stands now, or more of a text that is being written. A task whose
// Quiet is set stands at a revision that was told before: only what it waits for, or tries again, is new.
type News struct {
	Task  *Task
	Text  *Text
	Quiet bool
	Mark  int64 // how far a feed of many tasks is, to go on from
}

// Text is a part of what a model is writing at the moment. A reader puts it behind the parts before, or, where Offset
// is 0, in place of them: the call is another one, is made again, or the reader has just come.
type Text struct {
	Item    *int   `json:"item" doc:"index of the item that it will be the result of; null where it is of the task"`
	Offset  int    `json:"offset" doc:"bytes of the text before this part"`
	Text    string `json:"text"`
	Restart bool   `json:"restart,omitempty" doc:"the text before is void"`
}
