// Package video holds the activities of the kind video: submit, poll, download and cancel of jobs that are paid once.
package video

import (
	"log/slog"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// Activities are the activities of the kind.
type Activities struct {
	Bucket   *storage.Bucket
	Files    storage.Files
	Renderer activities.Renderer
	Call     *call.Caller
	Results  *results.Store
	Log      *slog.Logger
}

// New builds the activities of the kind.
func New(p activities.Parts) activities.Queued {
	return &Activities{Bucket: p.Bucket, Files: p.Files, Renderer: p.Renderer, Call: p.Call, Results: p.Results, Log: p.Log}
}

// Queues lists the activities by task queue.
func (a *Activities) Queues() map[string][]any {
	return map[string][]any{
		record.QueueDocuments: {a.PlanVideo, a.FailVideo, a.FinishVideo},
		record.QueueVideo:     {a.SubmitVideo, a.WatchVideo, a.FetchVideo, a.StopVideo},
	}
}
