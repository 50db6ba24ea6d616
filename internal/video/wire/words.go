package wire

import (
	"strings"
	"unicode"

	"longhaul/internal/video"
)

// states are the words for how a job stands, squeezed to small letters. A word that is not here means that the
// job goes on.
var states = map[string]video.State{
	"queued": video.Queued, "queueing": video.Queued, "queuing": video.Queued, "inqueue": video.Queued,
	"pending": video.Queued, "created": video.Queued, "submitted": video.Queued, "accepted": video.Queued,
	"waiting": video.Queued, "wait": video.Queued, "notstart": video.Queued, "preparing": video.Queued,

	"running": video.Running, "inprogress": video.Running, "processing": video.Running, "generating": video.Running,
	"started": video.Running, "rendering": video.Running,

	"succeeded": video.Succeeded, "succeed": video.Succeeded, "success": video.Succeeded, "successful": video.Succeeded,
	"completed": video.Succeeded, "complete": video.Succeeded, "done": video.Succeeded, "finished": video.Succeeded,

	"failed": video.Failed, "failure": video.Failed, "fail": video.Failed, "error": video.Failed, "rejected": video.Failed,
	expired: video.Failed, "timeout": video.Failed, "timedout": video.Failed, "deleted": video.Failed,

	"cancelled": video.Cancelled, "canceled": video.Cancelled, "terminated": video.Cancelled, "aborted": video.Cancelled,
}

// expired is a job that the provider gave up before it was done.
const expired = "expired"

// Where things stand in an answer, best first. A number is a place in a list. What is deeper comes first where
// the envelope around a job uses the same name.
var (
	idPlaces = []string{"id", "task_id", "taskId", "data.task_id", "data.taskId", "data.id", "output.task_id"}

	statePlaces = []string{
		"data.task_status", "data.status", "data.state", "output.task_status", "output.status", "task_status", "status", "state",
	}

	progressPlaces = []string{"progress", "data.progress", "output.progress", "percent", "data.percent"}

	urlPlaces = []string{
		"content.video_url", "video_url", "result_url", "video.url", "urls.0", "unsigned_urls.0", "url",
		"output.video_url", "output.url", "output.0", "output", "metadata.url", "metadata.result_urls.0",
		"video_result.0.url", "creations.0.url", "videos.0.url", "task_result.videos.0.url",
		"data.task_result.videos.0.url", "data.creations.0.url", "data.video_url", "data.result_url", "data.url",
		"data.output", "data.0.url", "data.video.url", "data.data.content.video_url", "result.video_url",
		"fail_reason", "data.fail_reason", // new-api puts it where the reason of a failure would be
	}

	codePlaces = []string{
		"error.code", "error.type", "failure_reason.code", "output.code", "data.error.code", "data.failCode", "error_code", "data.error_code",
	}

	messagePlaces = []string{
		"error.message", "error", "failure_reason.message", "failure_reason", "output.message", "data.error.message", "data.error",
		"fail_reason", "data.fail_reason", "data.failMsg", "task_status_msg", "data.task_status_msg", "error_message", "message",
	}

	tokenPlaces   = []string{"usage.completion_tokens", "usage.output_tokens", "usage.total_tokens", "data.usage.completion_tokens"}
	secondsPlaces = []string{"duration", "seconds", "video.duration", "data.duration"}
	promptPlaces  = []string{"revised_prompt", "output.actual_prompt"}
	fencePlaces   = []string{"safety_identifier", "metadata." + fenceField}
	itemPlaces    = []string{"items", "data", "data.items"}
)

// fenceField is what a fence is called among the metadata of a job.
const fenceField = "longhaul_fence"

// refusals are words of failures that are about what the prompt or the video shows, where the code does not say so.
var refusals = []string{
	"moderation", "sensitive", "content policy", "content_policy", "policy violation", "safety", "prohibited", "inappropriate", "unsafe",
	"nsfw", "copyright", "risk", "审核", "敏感", "违规", "违反", "不合规",
}

// squeeze gives the small letters of a word alone, so that all its spellings are one.
func squeeze(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, word)
}
