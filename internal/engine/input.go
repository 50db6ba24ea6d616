package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"

	"longhaul/internal/record"
	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// Input hands a task what a person says: the answer to one of its requests, or a message. An answer counts once: the
// first is kept, the same again changes nothing, and another one is task.Conflict, as is an answer to a request that is
// not open any more.
func (e *Engine) Input(ctx context.Context, tenant, id string, reply task.Reply) (task.Task, error) {
	t, err := e.Standing(ctx, tenant, id)
	if err != nil {
		return task.Task{}, err
	}
	if t.Done || t.Status == task.Cancelling {
		return t, task.Errorf(task.Conflict, "the task is %s and hears nothing any more", t.Status)
	}
	said := record.Message{Request: reply.Request, Action: string(reply.Action)}
	if reply.Request == "" {
		said.Message, err = e.keepMessage(ctx, t, reply)
	} else {
		err = e.keepAnswer(ctx, t, reply)
	}
	if err != nil {
		return t, err
	}
	if err := e.signal(ctx, id, record.SignalInput, said); err != nil {
		return t, err
	}
	return e.Get(ctx, tenant, id)
}

// signal tells something to the workflow of a task that was open a moment ago.
func (e *Engine) signal(ctx context.Context, id, name string, said any) error {
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	err := e.Client.SignalWorkflow(ctx, id, "", name, said)
	if is[*serviceerror.NotFound](err) {
		return task.Errorf(task.Conflict, "the task ended in the same moment")
	}
	return words(err, id)
}

// mostReplies is how much may be said to one task: each is an event of its history, and goes into a prompt.
const mostReplies = 500

// keepMessage puts a message into the bucket and gives its key.
func (e *Engine) keepMessage(ctx context.Context, t task.Task, reply task.Reply) (string, error) {
	if kind, ok := workflows.Find(t.Kind); !ok || !kind.TakesMessages {
		return "", task.Errorf(task.Conflict, "a task of kind %s takes no messages", t.Kind)
	}
	said, err := e.Bucket.List(ctx, storage.RepliesPrefix(t.ID))
	if err != nil {
		return "", err
	}
	if len(said) >= mostReplies {
		return "", task.Errorf(task.TooMany, "the task was told %d things already, and takes no more", len(said))
	}
	key := storage.ReplyKey(t.ID, "message-"+strings.ToLower(rand.Text()[:16]))
	return key, e.Bucket.PutJSON(ctx, key, reply)
}

// keepAnswer puts an answer into the bucket, if it is the first.
func (e *Engine) keepAnswer(ctx context.Context, t task.Task, reply task.Reply) error {
	key := storage.ReplyKey(t.ID, reply.Request)
	request, open := t.InputRequests[reply.Request]
	if open {
		if err := errors.Join(fits(request, reply), e.suits(ctx, t.ID, request, reply)); err != nil {
			return task.AsError(err)
		}
		if time.Now().After(request.ExpiresAt) {
			return task.Errorf(task.Conflict, "the time to answer was over at %s", request.ExpiresAt.UTC().Format(time.RFC3339))
		}
		if wrote, err := e.Bucket.PutNewJSON(ctx, key, reply); err != nil || wrote {
			return err
		}
	}
	var before task.Reply
	err := e.Bucket.GetJSON(ctx, key, &before)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return task.Errorf(task.Conflict, "the task has no open request %q", reply.Request)
	case err != nil:
		return err
	case same(before, reply):
		return nil // the same again: perhaps it was not heard the first time
	case before.Action == task.Expire:
		return task.Errorf(task.Conflict, "the time to answer was over; the task went on without")
	default:
		return task.Errorf(task.Conflict, "it was answered before: %s", before.Action)
	}
}

// same reports whether two replies say the same, however their JSON is written.
func same(a, b task.Reply) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}

// suits refuses arguments that do not fit the tool: the call could not be made with them.
func (e *Engine) suits(ctx context.Context, id string, request task.InputRequest, reply task.Reply) error {
	if len(reply.Arguments) == 0 {
		return nil
	}
	var tools []struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := e.Bucket.GetJSON(ctx, storage.AgentToolsKey(id), &tools); err != nil {
		return err
	}
	for _, tool := range tools {
		compiled, err := schema.Compile(tool.Parameters)
		if tool.Name != request.Tool || err != nil {
			continue
		}
		if found := compiled.Check(reply.Arguments); len(found) > 0 {
			return invalid("/arguments"+found[0].Pointer, "%s, as the tool %s takes it", found[0].Detail, request.Tool)
		}
	}
	return nil
}

// fits refuses an answer that does not belong to its request.
func fits(request task.InputRequest, reply task.Reply) error {
	switch {
	case request.Kind == "question" && reply.Action != task.Respond && reply.Action != task.Deny:
		return invalid("/action", "a question takes answer or deny")
	case request.Kind == "approval" && reply.Action != task.Approve && reply.Action != task.Deny:
		return invalid("/action", "an approval takes approve or deny")
	case len(request.Choices) > 0 && reply.Action == task.Respond && !slices.Contains(request.Choices, reply.Text):
		return invalid("/text", "must be one of the choices: %s", strings.Join(request.Choices, ", "))
	}
	return nil
}
