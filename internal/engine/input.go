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

// Input sends the reply of a person to a task: an answer to an open request, or a message. The first answer to a request counts. Repeating it
// changes nothing; a different answer, or one to a request that is closed, is task.Conflict.
func (e *Engine) Input(ctx context.Context, tenant, id string, reply task.Reply) (task.Task, error) {
	t, err := e.Standing(ctx, tenant, id)
	if err != nil {
		return task.Task{}, err
	}
	if t.Done || t.Status == task.Cancelling {
		return t, task.Errorf(task.Conflict, "the task is %s and takes no more input", t.Status)
	}
	message := record.Message{Request: reply.Request, Action: string(reply.Action)}
	if reply.Request == "" {
		message.Message, err = e.storeMessage(ctx, t, reply)
	} else {
		err = e.storeAnswer(ctx, t, reply)
	}
	if err != nil {
		return t, err
	}
	if err := e.signal(ctx, id, record.SignalInput, message); err != nil {
		return t, err
	}
	return e.Get(ctx, tenant, id)
}

// signal sends a signal to the workflow of a task. If the task has ended it is task.Conflict.
func (e *Engine) signal(ctx context.Context, id, name string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	err := e.Client.SignalWorkflow(ctx, id, "", name, arg)
	if is[*serviceerror.NotFound](err) {
		return task.Errorf(task.Conflict, "the task ended before the request reached it")
	}
	return translateError(err, id)
}

// maxReplies is how many messages and answers a task takes. Each is an event of its history and a part of later prompts.
const maxReplies = 500

// storeMessage writes a message to the bucket and returns its key. A kind that takes no messages is task.Conflict.
func (e *Engine) storeMessage(ctx context.Context, t task.Task, reply task.Reply) (string, error) {
	if kind, ok := workflows.Find(t.Kind); !ok || !kind.TakesMessages {
		return "", task.Errorf(task.Conflict, "a task of kind %s takes no messages", t.Kind)
	}
	replies, err := e.Bucket.List(ctx, storage.RepliesPrefix(t.ID))
	if err != nil {
		return "", err
	}
	if len(replies) >= maxReplies {
		return "", task.Errorf(task.TooMany, "the task has %d replies, and the limit is %d; start a new task to say more", len(replies), maxReplies)
	}
	key := storage.ReplyKey(t.ID, "message-"+strings.ToLower(rand.Text()[:16]))
	return key, e.Bucket.PutJSON(ctx, key, reply)
}

// storeAnswer writes an answer to the bucket, if it is the first to its request and fits it.
func (e *Engine) storeAnswer(ctx context.Context, t task.Task, reply task.Reply) error {
	key := storage.ReplyKey(t.ID, reply.Request)
	request, open := t.InputRequests[reply.Request]
	if open {
		if err := errors.Join(checkAction(request, reply), e.checkArguments(ctx, t.ID, request, reply)); err != nil {
			return task.AsError(err)
		}
		if time.Now().After(request.ExpiresAt) {
			return task.Errorf(task.Conflict, "the request expired at %s and takes no more answers", request.ExpiresAt.UTC().Format(time.RFC3339))
		}
		if wrote, err := e.Bucket.PutNewJSON(ctx, key, reply); err != nil || wrote {
			return err
		}
	}
	var earlier task.Reply
	err := e.Bucket.GetJSON(ctx, key, &earlier)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return task.Errorf(task.Conflict, "the task has no open request %q", reply.Request)
	case err != nil:
		return err
	case sameReply(earlier, reply):
		return nil // the caller sends the signal again, because the first one may have been lost
	case earlier.Action == task.Expire:
		return task.Errorf(task.Conflict, "request %q expired, and the task continued without an answer", reply.Request)
	default:
		return task.Errorf(task.Conflict, "request %q was already answered: %s", reply.Request, earlier.Action)
	}
}

// sameReply reports whether two replies are equal, however the JSON of their arguments is formatted.
func sameReply(a, b task.Reply) bool {
	jsonA, errA := json.Marshal(a)
	jsonB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(jsonA, jsonB)
}

// checkArguments returns an error if the arguments that a person gives for a call do not match the schema of its tool.
func (e *Engine) checkArguments(ctx context.Context, id string, request task.InputRequest, reply task.Reply) error {
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
			return invalid("/arguments"+found[0].Pointer, "%s (schema of the tool %s)", found[0].Detail, request.Tool)
		}
	}
	return nil
}

// checkAction returns an error if an answer does not fit the kind or the choices of its request.
func checkAction(request task.InputRequest, reply task.Reply) error {
	switch {
	case request.Kind == "question" && reply.Action != task.Respond && reply.Action != task.Deny:
		return invalid("/action", "must be answer or deny, because the request is a question")
	case request.Kind == "approval" && reply.Action != task.Approve && reply.Action != task.Deny:
		return invalid("/action", "must be approve or deny, because the request is an approval")
	case len(request.Choices) > 0 && reply.Action == task.Respond && !slices.Contains(request.Choices, reply.Text):
		return invalid("/text", "must be one of the choices: %s", strings.Join(request.Choices, ", "))
	}
	return nil
}
