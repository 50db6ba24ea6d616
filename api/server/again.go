package server

import (
	"context"
	"encoding/json"
	"net/http"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// pauseBody is what may be said with a pause.
type pauseBody struct {
	Reason string `json:"reason,omitempty" jsonschema:"maxLength=1000,description=why\\, for those who see the task"`
}

type actionRequest struct {
	raw
	ID string `path:"id" doc:"the task's id"`
}

func (s *server) pause(ctx context.Context, in *actionRequest) (*taskAnswer, error) {
	var body pauseBody
	if err := s.readOptional(in.raw, s.bodiesOf["pause"], &body); err != nil {
		return nil, err
	}
	t, err := s.Tasks.Pause(ctx, tenant(ctx), in.ID, body.Reason)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusAccepted, t), nil
}

func (s *server) resume(ctx context.Context, in *taskPath) (*taskAnswer, error) {
	t, err := s.Tasks.Resume(ctx, tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusAccepted, t), nil
}

type replayRequest struct {
	raw
	ID  string `path:"id" doc:"the task's id"`
	Key string `header:"Idempotency-Key" doc:"up to 255 printable characters of your own: the same order again with the same key gives the same task"`
}

// replay runs a task that has ended again.
func (s *server) replay(ctx context.Context, in *replayRequest) (*taskAnswer, error) {
	if !printable.MatchString(in.Key) {
		return nil, badKey()
	}
	var order task.ReplayOrder
	if err := s.readOptional(in.raw, s.bodiesOf["replay"], &order); err != nil {
		return nil, err
	}
	t, replayed, err := s.Tasks.Replay(ctx, tenant(ctx), in.ID, in.Key, order)
	return started(t, replayed, err)
}

type deadRequest struct {
	Status      string `query:"status" enum:"open,replayed,discarded" default:"open" doc:"only those that stand so"`
	Kind        string `query:"kind" doc:"only those of this kind"`
	Fingerprint string `query:"fingerprint" doc:"only those of this group"`
	Cursor      string `query:"cursor" doc:"next_cursor of the page before"`
	Limit       int    `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"the most of them to answer"`
}

func (s *server) deadLetters(ctx context.Context, in *deadRequest) (*pageAnswer[task.DeadLetter], error) {
	return listed(s.Tasks.DeadLetters(ctx, tenant(ctx), task.DeadFilter{
		Status: task.DeadStatus(in.Status), Kind: in.Kind, Fingerprint: in.Fingerprint, Cursor: in.Cursor, Limit: in.Limit,
	}))
}

func (s *server) deadGroups(ctx context.Context, _ *struct{}) (*pageAnswer[task.DeadGroup], error) {
	return listed(s.Tasks.DeadGroups(ctx, tenant(ctx)))
}

type deadAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         task.DeadLetter
}

func (s *server) deadLetter(ctx context.Context, in *taskPath) (*deadAnswer, error) {
	d, err := s.Tasks.DeadLetter(ctx, tenant(ctx), in.ID)
	return &deadAnswer{CacheControl: "private, no-cache", Body: d}, err
}

// replayDead runs a dead letter again, once.
func (s *server) replayDead(ctx context.Context, in *actionRequest) (*taskAnswer, error) {
	var order task.ReplayOrder
	if err := s.readOptional(in.raw, s.bodiesOf["replay"], &order); err != nil {
		return nil, err
	}
	t, replayed, err := s.Tasks.ReplayDead(ctx, tenant(ctx), in.ID, order)
	return started(t, replayed, err)
}

// discardBody says why a dead letter is let go.
type discardBody struct {
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=1000,description=why\\, for whoever looks at it later"`
}

func (s *server) discard(ctx context.Context, in *actionRequest) (*deadAnswer, error) {
	var body discardBody
	if err := s.readBody(in.raw, func([]byte) *schema.Schema { return s.bodiesOf["discard"] }, &body); err != nil {
		return nil, err
	}
	d, err := s.Tasks.Discard(ctx, tenant(ctx), in.ID, body.Reason)
	return &deadAnswer{CacheControl: "private, no-cache", Body: d}, err
}

type bulkRequest struct {
	raw
	Key string `header:"Idempotency-Key" doc:"as with POST /v1/tasks"`
}

// replayMany starts a task of the kind replay.
func (s *server) replayMany(ctx context.Context, in *bulkRequest) (*taskAnswer, error) {
	if !printable.MatchString(in.Key) {
		return nil, badKey()
	}
	var input json.RawMessage
	if err := s.readBody(in.raw, func([]byte) *schema.Schema { return s.bodiesOf["bulk"] }, &input); err != nil {
		return nil, err
	}
	return started(s.Tasks.Create(ctx, task.Draft{Tenant: tenant(ctx), Kind: "replay", Input: input, IdempotencyKey: in.Key}))
}

// readOptional is readBody for a body that may be left out.
func (s *server) readOptional(in raw, form *schema.Schema, body any) error {
	if in.request.ContentLength == 0 {
		return nil
	}
	return s.readBody(in, func([]byte) *schema.Schema { return form }, body)
}

func badKey() error {
	return task.Errorf(task.Invalid, "Idempotency-Key must be at most %d printable ASCII characters", maxIdempotencyKey)
}

// otherBodies are the bodies beside that of POST /v1/tasks, by what is asked for, and where. Their schemas are made from them, so they say what is
// published and what is enforced.
func otherBodies() map[string]otherBody {
	return map[string]otherBody{
		"input":   {inputBody{}, []string{"/v1/tasks/{id}/input"}, true},
		"pause":   {pauseBody{}, []string{"/v1/tasks/{id}/pause"}, false},
		"replay":  {task.ReplayOrder{}, []string{"/v1/tasks/{id}/replay", "/v1/dead-letters/{id}/replay"}, false},
		"discard": {discardBody{}, []string{"/v1/dead-letters/{id}/discard"}, true},
		"webhook": {webhookBody{}, []string{"/v1/webhooks"}, true},
		"bulk":    {task.ReplayInput{}, []string{"/v1/dead-letters/replay"}, true},
	}
}

type otherBody struct {
	form     any
	paths    []string
	required bool
}
