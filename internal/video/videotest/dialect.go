package videotest

import "fmt"

// dialect is how a sort of provider words its answers.
type dialect struct {
	name   string
	words  map[string]string // for the states of Ark
	start  func(j *Job) map[string]any
	status func(j *Job, s Step, word, url string) map[string]any
}

var relayWords = map[string]string{"running": "in_progress", "succeeded": "completed"}

var (
	ark = dialect{
		name:  "ark",
		start: func(j *Job) map[string]any { return map[string]any{"id": j.ID} },
		status: func(j *Job, s Step, word, url string) map[string]any {
			body := map[string]any{"id": j.ID, "model": j.Model, "status": word, "created_at": j.Created.Unix(), "updated_at": j.Created.Unix(), "progress": s.Progress}
			if url != "" {
				body["content"] = map[string]any{"video_url": url}
				body["usage"] = map[string]any{"completion_tokens": 108900, "total_tokens": 108900}
			}
			if s.Code+s.Message != "" {
				body["error"] = map[string]any{"code": s.Code, "message": s.Message}
			}
			return body
		},
	}
	videos = dialect{
		name: "videos", words: relayWords,
		start: func(j *Job) map[string]any {
			return map[string]any{"id": j.ID, "object": "video", "model": j.Model, "status": "queued", "progress": 0, "created_at": j.Created.Unix()}
		},
		status: func(j *Job, s Step, word, _ string) map[string]any {
			body := map[string]any{"id": j.ID, "object": "video", "model": j.Model, "status": word, "progress": s.Progress, "created_at": j.Created.Unix()}
			if s.Code+s.Message != "" {
				body["error"] = map[string]any{"code": s.Code, "message": s.Message}
			}
			if s.URL != "" {
				body["url"] = s.URL
			}
			return body
		},
	}
	xai = dialect{
		name: "xai", words: videos.words,
		start:  func(j *Job) map[string]any { return map[string]any{"request_id": j.ID} },
		status: videos.status,
	}
	newapi = dialect{
		name: "newapi", words: relayWords,
		start: func(j *Job) map[string]any { return map[string]any{"task_id": j.ID, "status": "queued"} },
		status: func(j *Job, s Step, word, url string) map[string]any {
			body := map[string]any{"task_id": j.ID, "status": word, "progress": s.Progress}
			if url != "" {
				body["url"] = url
			}
			if s.Code+s.Message != "" {
				body["error"] = map[string]any{"code": s.Code, "message": s.Message}
			}
			return body
		},
	}
)

// word puts a state of Ark into the dialect's.
func (d dialect) word(state string) string {
	if word, ok := d.words[state]; ok {
		return word
	}
	return state
}

// tell is the answer to a poll.
func (d dialect) tell(j *Job, s Step, host string) map[string]any {
	url := ""
	if s.State == "succeeded" && !s.NoURL {
		url = s.URL
		if url == "" {
			url = fmt.Sprintf("http://%s/files/%s?signature=SIGNED", host, j.ID)
		}
	}
	body := d.status(j, s, d.word(s.State), url)
	if s.Progress == nil {
		delete(body, "progress")
	}
	return body
}
