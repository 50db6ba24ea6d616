package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

type createRequest struct {
	raw
	Key    string `header:"Idempotency-Key" doc:"up to 255 printable characters of your own: sending the same body again with the same key gives the same task"`
	Prefer string `header:"Prefer" doc:"wait=N waits up to N seconds, at most 60, for the task to end; if it does the answer is 200" example:"wait=10"`
}

func (s *server) create(ctx context.Context, in *createRequest) (*taskAnswer, error) {
	draft, err := s.draft(in)
	if err != nil {
		return nil, err
	}
	draft.Tenant = tenant(ctx)
	t, replayed, err := s.Tasks.Create(ctx, draft)
	most := preferredWait(in.request.Header.Values("Prefer"))
	if err == nil && most > 0 {
		t, err = s.waitForEnd(ctx, t, most)
	}
	a, err := started(t, replayed, err)
	if err == nil && most > 0 {
		a.PreferenceApplied = fmt.Sprintf("wait=%d", int(most.Seconds()))
	}
	return a, err
}

// started is the answer to an order that starts a task, or finds the one that it started before. It tells where the task is,
// ended or not.
func started(t task.Task, replayed bool, err error) (*taskAnswer, error) {
	if err != nil {
		return nil, err
	}
	a := answer(http.StatusAccepted, t)
	if t.Done {
		a.Status = http.StatusOK
	}
	if replayed {
		a.IdempotencyReplay = "true"
	}
	return a, nil
}

// waitForEnd holds on until a task has ended or the time is over.
func (s *server) waitForEnd(ctx context.Context, t task.Task, most time.Duration) (task.Task, error) {
	end := time.Now().Add(most)
	for !t.Done {
		left := time.Until(end)
		changed, err := s.wait(ctx, t, t.Revision, left)
		if err != nil || left <= 0 || changed.Revision == t.Revision {
			return changed, err
		}
		t = changed
	}
	return t, nil
}

// preferredWait reads Prefer: wait=N (RFC 7240). More than we allow counts as what we allow; what
// cannot be understood is ignored, as the RFC asks.
func preferredWait(headers []string) time.Duration {
	for preference := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(preference), "=")
		seconds, err := strconv.ParseUint(strings.Trim(value, `" `), 10, 32)
		if strings.EqualFold(strings.TrimSpace(name), "wait") && err == nil {
			return min(time.Duration(seconds)*time.Second, maxWait)
		}
	}
	return 0
}

// maxIdempotencyKey is the length of the longest key, in characters.
const maxIdempotencyKey = 255

var printable = regexp.MustCompile(fmt.Sprintf(`^[ -~]{0,%d}$`, maxIdempotencyKey))

// draft reads a request into a draft, or refuses it with every fault there is.
func (s *server) draft(in *createRequest) (task.Draft, error) {
	if !printable.MatchString(in.Key) {
		return task.Draft{}, badKey()
	}
	var body createBody
	if err := s.readBody(in.raw, s.bodySchema, &body); err != nil {
		return task.Draft{}, err
	}
	options, found := body.options(time.Now())
	if len(found) > 0 {
		return task.Draft{}, task.Unfit(found)
	}
	return task.Draft{Kind: body.Kind, Input: body.Input, IdempotencyKey: in.Key, Options: options}, nil
}

// bodySchema picks the schema that a body must keep: that of its kind, when it names one.
func (s *server) bodySchema(text []byte) *schema.Schema {
	var body struct{ Kind string }
	if json.Unmarshal(text, &body) == nil && s.bodies[body.Kind] != nil {
		return s.bodies[body.Kind]
	}
	return s.anyKind
}
