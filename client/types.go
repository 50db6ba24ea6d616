package client

import "longhaul/internal/task"

// What the API speaks of. Their fields are those of the JSON.
type (
	Task     = task.Task
	State    = task.State
	Text     = task.Text
	Item     = task.Item
	Artifact = task.Artifact
	Error    = task.Error
	Filter   = task.Filter
	Reply    = task.Reply
	KindInfo = task.KindInfo
)
