package client

import (
	"context"

	"longhaul/internal/task"
)

// DeadLetter is a task that failed, or items of which failed, and that waits for a person to replay or discard it. Its ID is the
// task's.
type DeadLetter = task.DeadLetter

// DeadStatus is the status of a dead letter.
type DeadStatus = task.DeadStatus

// The statuses of dead letters.
const (
	DeadOpen      = task.DeadOpen
	DeadReplayed  = task.DeadReplayed
	DeadDiscarded = task.DeadDiscarded
)

// DeadGroup is all open dead letters with the same fingerprint, which most likely have the same cause.
type DeadGroup = task.DeadGroup

// Parts of a DeadLetter.
type (
	Failure    = task.Failure // its Fingerprint selects a group
	FailedItem = task.FailedItem
	FailedTry  = task.FailedTry // a provider call that failed
	ReplayCall = task.ReplayCall
	ReplayNote = task.ReplayNote
)

// ReplayOrder is the request to run a task again: which items, and with which changes.
type ReplayOrder = task.ReplayOrder

// Overrides are the changes of a replay. Zero values change nothing.
type Overrides = task.Overrides

// Scope is which items a replay does again. Calls that are paid for are not paid again, unless their request has changed.
type Scope = task.Scope

// The scopes.
const (
	ScopeFailed = task.ScopeFailed // the default
	ScopeAll    = task.ScopeAll
)

// ReplayInfo is what a replay is a replay of, and how many items it keeps.
type ReplayInfo = task.ReplayInfo

// Replay runs a task that has ended again, as a new task. A running task is a Conflict. Repeated with the same key and order
// it returns the same task; an empty key is replaced by a random key.
func (c *Client) Replay(ctx context.Context, id string, order ReplayOrder, idempotencyKey string) (Task, error) {
	return start[Task](ctx, c, taskPath(id, "replay"), idempotencyKey, order)
}

// DeadLetters returns the open dead letters with a fingerprint, or all of them for "", from the newest.
func (c *Client) DeadLetters(ctx context.Context, fingerprint string) ([]DeadLetter, error) {
	return collect(entries[DeadLetter](ctx, c, "/v1/dead-letters", params("fingerprint", fingerprint)))
}

// ListDeadLetters returns one page of dead letters; those that are open if the filter has no status.
func (c *Client) ListDeadLetters(ctx context.Context, f DeadFilter) (Page[DeadLetter], error) {
	query := params("status", f.Status, "kind", f.Kind, "fingerprint", f.Fingerprint, "cursor", f.Cursor, "limit", f.Limit)
	return fetch[Page[DeadLetter]](ctx, c, get("/v1/dead-letters", query))
}

// DeadGroups returns the open dead letters grouped by fingerprint.
func (c *Client) DeadGroups(ctx context.Context) ([]DeadGroup, error) {
	return list[DeadGroup](ctx, c, "/v1/dead-letters/groups")
}

// DeadLetter returns what failed in a task, the likely cause and the fix.
func (c *Client) DeadLetter(ctx context.Context, id string) (DeadLetter, error) {
	return fetch[DeadLetter](ctx, c, get(pathOf("/v1/dead-letters", id), nil))
}

// ReplayDeadLetter runs a dead letter again. It needs no key: repeating it returns the task of the first call.
func (c *Client) ReplayDeadLetter(ctx context.Context, id string, order ReplayOrder) (Task, error) {
	return post[Task](ctx, c, pathOf("/v1/dead-letters", id, "replay"), order)
}

// ReplayMany starts a task that replays the dead letters of a group, a kind or a list of ids. Repeated with the same key and
// input it returns the same task; an empty key is replaced by a random key.
func (c *Client) ReplayMany(ctx context.Context, in ReplayInput, idempotencyKey string) (Task, error) {
	return start[Task](ctx, c, "/v1/dead-letters/replay", idempotencyKey, in)
}

// Discard closes a dead letter without a replay. The reason must not be empty. Repeating it changes nothing: the first reason
// stays.
func (c *Client) Discard(ctx context.Context, id, reason string) (DeadLetter, error) {
	return post[DeadLetter](ctx, c, pathOf("/v1/dead-letters", id, "discard"), map[string]string{"reason": reason})
}
