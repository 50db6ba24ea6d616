package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"longhaul/internal/task"
)

// Result opens the result of a task, which is JSON; the caller closes it. A running task is NotReady; a task that ended without a
// result is a Conflict.
func (c *Client) Result(ctx context.Context, id string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, get(taskPath(id, "result"), nil))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusAccepted {
		_ = resp.Body.Close()
		return nil, task.Errorf(NotReady, "task %s has no result yet", id)
	}
	return resp.Body, nil
}

// DecodeResult reads the result of a task into v, as json.Unmarshal does. Its errors are those of Result.
func (c *Client) DecodeResult(ctx context.Context, id string, v any) error {
	result, err := c.Result(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = result.Close() }()
	text, err := io.ReadAll(result)
	if err != nil {
		return c.noAnswer(ctx, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("decode the result of task %s: %w", id, err)
	}
	return nil
}

// Items returns the items of a task that have a status, or all of them for "", in the order of the input. It may be called while
// the task runs.
func (c *Client) Items(ctx context.Context, id string, status ItemStatus) ([]Item, error) {
	return collect(entries[Item](ctx, c, taskPath(id, "items"), params("status", status)))
}

// ListItems returns one page of items.
func (c *Client) ListItems(ctx context.Context, id string, f ItemFilter) (Page[Item], error) {
	return fetch[Page[Item]](ctx, c, get(taskPath(id, "items"), params("status", f.Status, "cursor", f.Cursor, "limit", f.Limit)))
}

// StreamItems returns all items of a task in one request, each when it arrives: for tasks of many thousand items. It ends after
// the first error.
func (c *Client) StreamItems(ctx context.Context, id string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		lines, err := c.open(ctx, get(taskPath(id, "items.jsonl"), nil))
		if err != nil {
			yield(Item{}, err)
			return
		}
		defer func() { _ = lines.Close() }()
		decoder := json.NewDecoder(lines)
		for {
			var item Item
			err := decoder.Decode(&item)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Item{}, c.noAnswer(ctx, err))
				return
			case !yield(item, nil):
				return
			}
		}
	}
}

// Artifacts returns the files that a task produced.
func (c *Client) Artifacts(ctx context.Context, id string) ([]Artifact, error) {
	return list[Artifact](ctx, c, taskPath(id, "artifacts"))
}

// Artifact opens a file that a task produced; the caller closes it.
func (c *Client) Artifact(ctx context.Context, id, name string) (io.ReadCloser, error) {
	return c.open(ctx, get(taskPath(id, "artifacts", name), nil))
}

// ArtifactRange opens length bytes of a file from an offset, or all bytes from there if length is 0, so that a broken download
// can continue; the caller closes it. An offset at or after the end is Invalid.
func (c *Client) ArtifactRange(ctx context.Context, id, name string, offset, length int64) (io.ReadCloser, error) {
	q := get(taskPath(id, "artifacts", name), nil)
	last := ""
	if length > 0 {
		last = fmt.Sprint(offset + length - 1)
	}
	q.header = http.Header{"Range": {fmt.Sprintf("bytes=%d-%s", offset, last)}}
	resp, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusPartialContent {
		_ = resp.Body.Close()
		return nil, c.noAnswer(ctx, fmt.Errorf("HTTP %s in place of a range: a proxy may have removed it", resp.Status))
	}
	return resp.Body, nil
}
