package server

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/task"
)

// maxWait is the longest that a request may be held open for a change.
const maxWait = 60 * time.Second

type taskPath struct {
	ID string `path:"id" doc:"the task's id"`
}

type taskAnswer struct {
	Status            int
	ETag              string `header:"ETag"`
	Location          string `header:"Location"`
	RetryAfter        string `header:"Retry-After"`
	CacheControl      string `header:"Cache-Control"`
	PreferenceApplied string `header:"Preference-Applied"`
	IdempotencyReplay string `header:"Idempotency-Replayed"`
	Body              task.Task
}

func answer(status int, t task.Task) *taskAnswer {
	a := &taskAnswer{Status: status, ETag: etag(t), CacheControl: "private, no-cache", Body: t}
	if status == http.StatusAccepted {
		a.Location = "/v1/tasks/" + t.ID
	}
	if !t.Done {
		a.RetryAfter = strconv.Itoa(askAgain(t, time.Now()))
	}
	return a
}

// askAgain is after how many seconds it is worth asking again, for those who can neither listen nor wait: soon while a task
// is young or near its end, later while it is neither.
func askAgain(t task.Task, now time.Time) int {
	const most = 15.0
	seconds := now.Sub(t.CreatedAt).Seconds() / 20
	switch {
	case t.Status == task.Scheduled && t.ScheduledAt != nil:
		seconds = t.ScheduledAt.Sub(now).Seconds()
	case t.Progress.ETA != nil:
		seconds = min(seconds, float64(t.Progress.ETA.Seconds)/4)
	}
	return int(max(1, min(seconds, most)))
}

// etag is the revision, and a mark of what no revision counts: what a task waits for or tries again.
func etag(t task.Task) string {
	tag := strconv.FormatInt(t.Revision, 10)
	if t.Waiting != nil || t.Retrying != nil {
		hash := fnv.New32a()
		_ = json.NewEncoder(hash).Encode([]any{t.Waiting, t.Retrying})
		tag += fmt.Sprintf("-%08x", hash.Sum32())
	}
	return `"` + tag + `"`
}

type getRequest struct {
	ID          string `path:"id" doc:"the task's id"`
	Wait        string `query:"wait" doc:"hold the answer until the task changes, at most this long: a duration up to 60s" example:"30s"`
	After       int64  `query:"after_revision" default:"-1" doc:"with wait: answer once the revision is higher; by default than at the moment"`
	IfNoneMatch string `header:"If-None-Match" doc:"an ETag: the answer is 304 while the task is still at that revision"`
}

func (s *server) get(ctx context.Context, in *getRequest) (*taskAnswer, error) {
	wait, err := waitTime(in.Wait)
	if err != nil {
		return nil, err
	}
	t, err := s.Tasks.Get(ctx, tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	if wait > 0 && !t.Done {
		after := in.After
		if after < 0 {
			after = t.Revision
		}
		if t, err = s.wait(ctx, t, after, wait); err != nil {
			return nil, err
		}
	}
	if matches(in.IfNoneMatch, etag(t)) {
		return answer(http.StatusNotModified, t), nil
	}
	return answer(http.StatusOK, t), nil
}

// wait holds on until a task changes, the time is over, the client leaves or the server stops.
func (s *server) wait(ctx context.Context, t task.Task, after int64, most time.Duration) (task.Task, error) {
	if t.Done || t.Revision > after {
		return t, nil
	}
	limited, cancel := untilStop(ctx, most)
	defer cancel()
	changed, err := s.Tasks.Wait(limited, tenant(ctx), t.ID, after)
	if err != nil && limited.Err() != nil {
		return t, nil // as it was; the next poll sees what came since
	}
	return changed, err
}

func waitTime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if seconds, convErr := strconv.ParseUint(text, 10, 16); convErr == nil {
		wait, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || wait < 0 || wait > maxWait {
		return 0, unfit("wait", "must be a duration of at most %s, such as 30s", maxWait)
	}
	return wait, nil
}

func matches(ifNoneMatch, tag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		if c := strings.TrimPrefix(strings.TrimSpace(candidate), "W/"); c == tag || c == "*" {
			return true
		}
	}
	return false
}

type pageAnswer[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Body         task.Page[T]
}

func listed[T any](page task.Page[T], err error) (*pageAnswer[T], error) {
	if err != nil {
		return nil, err
	}
	page.Object = "list"
	if page.Data == nil {
		page.Data = []T{}
	}
	return &pageAnswer[T]{CacheControl: "private, no-cache", Body: page}, nil
}

type listRequest struct {
	Status string   `query:"status" enum:"scheduled,pending,processing,input_required,paused,cancelling,succeeded,failed,cancelled" doc:"only tasks in this state"`
	Kind   string   `query:"kind" doc:"only tasks of this kind"`
	Label  []string `query:"label,explode" doc:"only tasks with this label, as key:value; may be repeated, and all must match" example:"[\"project:atlas\"]"`
	Cursor string   `query:"cursor" doc:"next_cursor of the page before"`
	Limit  int      `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"the most tasks to answer"`
}

func (s *server) list(ctx context.Context, in *listRequest) (*pageAnswer[task.Task], error) {
	labels, err := labelFilter(in.Label)
	if err != nil {
		return nil, err
	}
	return listed(s.Tasks.List(ctx, tenant(ctx), task.Filter{
		Status: task.State(in.Status), Kind: in.Kind, Labels: labels, Cursor: in.Cursor, Limit: in.Limit,
	}))
}

func labelFilter(given []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, pair := range given {
		key, value, ok := strings.Cut(pair, ":")
		if !ok || !labelKey.MatchString(key) {
			return nil, unfit("label", "must be key:value, with a key of %s", labelKey)
		}
		if !labelValue.MatchString(value) {
			return nil, unfit("label", "must have a value of %s, as labels do", labelValue)
		}
		if before, twice := labels[key]; twice && before != value {
			return nil, unfit("label", "names %q with two values, and a task has one", key)
		}
		labels[key] = value
	}
	return labels, nil
}

func (s *server) cancel(ctx context.Context, in *taskPath) (*taskAnswer, error) {
	t, err := s.Tasks.Cancel(ctx, tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	if t.Done {
		return answer(http.StatusOK, t), nil
	}
	return answer(http.StatusAccepted, t), nil
}
