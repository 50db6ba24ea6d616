package client

import (
	"context"
	"net/http"
	"net/url"

	"longhaul/internal/task"
)

// PauseTask holds a task.
func (c *Client) PauseTask(ctx context.Context, id, reason string) (task.Task, error) {
	return post[task.Task](ctx, c, taskPath(id, "pause"), "", map[string]string{"reason": reason})
}

// ResumeTask lets a paused task go on.
func (c *Client) ResumeTask(ctx context.Context, id string) (task.Task, error) {
	return fetch[task.Task](ctx, c, call{method: http.MethodPost, path: taskPath(id, "resume")})
}

// Replay runs a task that has ended again, as a new one. With the same key and order it may be repeated: the task is the same.
func (c *Client) Replay(ctx context.Context, id string, order task.ReplayOrder, idempotencyKey string) (task.Task, error) {
	return post[task.Task](ctx, c, taskPath(id, "replay"), idempotencyKey, order)
}

// DeadLetters lists the open dead letters of a group, or all when it is "".
func (c *Client) DeadLetters(ctx context.Context, fingerprint string) ([]task.DeadLetter, error) {
	q := url.Values{}
	put(q, "fingerprint", fingerprint)
	var all []task.DeadLetter
	for {
		page, err := fetch[task.Page[task.DeadLetter]](ctx, c, get("/v1/dead-letters", q))
		all = append(all, page.Data...)
		if err != nil || page.NextCursor == nil {
			return all, err
		}
		q.Set("cursor", *page.NextCursor)
	}
}

// DeadGroups puts the open dead letters together by what went wrong.
func (c *Client) DeadGroups(ctx context.Context) ([]task.DeadGroup, error) {
	page, err := fetch[task.Page[task.DeadGroup]](ctx, c, get("/v1/dead-letters/groups"))
	return page.Data, err
}

// DeadLetter tells what went wrong in a task, and what mends it.
func (c *Client) DeadLetter(ctx context.Context, id string) (task.DeadLetter, error) {
	return fetch[task.DeadLetter](ctx, c, get("/v1/dead-letters/"+url.PathEscape(id)))
}

// ReplayMany runs many dead letters again, as a task. With the same key and input it may be repeated: the task is the same.
func (c *Client) ReplayMany(ctx context.Context, in task.ReplayInput, idempotencyKey string) (task.Task, error) {
	return post[task.Task](ctx, c, "/v1/dead-letters/replay", idempotencyKey, in)
}

// Discard lets a dead letter go.
func (c *Client) Discard(ctx context.Context, id, reason string) (task.DeadLetter, error) {
	return post[task.DeadLetter](ctx, c, "/v1/dead-letters/"+url.PathEscape(id)+"/discard", "", map[string]string{"reason": reason})
}
