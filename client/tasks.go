package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// NewTask is the request for a task. Zero values of the optional fields leave them out.
type NewTask struct {
	Kind string `json:"kind"`
	// Input is the input of the kind: a type such as SummaryInput, a map, or JSON as []byte or json.RawMessage.
	Input    any               `json:"input"`
	Labels   map[string]string `json:"labels,omitempty"`   // the caller's own, to find the task again
	Priority int               `json:"priority,omitempty"` // 1 is first, 5 is last; 0 means 3
	Delay    string            `json:"delay,omitempty"`    // start so long after acceptance: a duration such as 90s
	StartAt  string            `json:"start_at,omitempty"` // start at this time (RFC 3339); not together with Delay
	Deadline string            `json:"deadline,omitempty"` // end by then with what is done: a time, or a duration such as 2h
	Model    string            `json:"model,omitempty"`    // "" means the configured model
	Budget   float64           `json:"budget,omitempty"`   // the most it may cost, in the currency of the prices; 0 means no limit
	Webhook  *Webhook          `json:"webhook,omitempty"`  // notified beside the registered webhooks
	Notify   *Notify           `json:"notify,omitempty"`
}

// Notify is who gets a mail when the task ends or needs a person.
type Notify struct {
	Email string `json:"email"`
}

// Create starts a task and returns it as accepted. Invalid names every faulty field. Repeated with the same key and request it
// returns the same task; with the same key and another request it is KeyReused. An empty key is replaced by a random key.
func (c *Client) Create(ctx context.Context, n NewTask, idempotencyKey string) (Task, error) {
	if text, ok := n.Input.([]byte); ok {
		n.Input = json.RawMessage(text)
	}
	return start[Task](ctx, c, "/v1/tasks", idempotencyKey, n)
}

// Get returns a task.
func (c *Client) Get(ctx context.Context, id string) (Task, error) {
	return fetch[Task](ctx, c, get(taskPath(id), nil))
}

// Wait returns a task once its revision is higher than after or it has ended, or as it is when the time is over. The longest wait
// is one minute, and a longer one is Invalid. Watch follows a task to its end.
func (c *Client) Wait(ctx context.Context, id string, after int64, atMost time.Duration) (Task, error) {
	query := params("wait", atMost)
	query.Set("after_revision", strconv.FormatInt(after, 10))
	return fetch[Task](ctx, c, get(taskPath(id), query))
}

// List returns one page of tasks: the running ones first, then the others from the last that ended.
func (c *Client) List(ctx context.Context, f Filter) (Page[Task], error) {
	return fetch[Page[Task]](ctx, c, get("/v1/tasks", listQuery(f)))
}

func listQuery(f Filter) url.Values {
	query := params("status", f.Status, "kind", f.Kind, "cursor", f.Cursor, "limit", f.Limit)
	for name, value := range f.Labels {
		query.Add("label", name+":"+value)
	}
	return query
}

// Tasks returns all tasks that a filter selects, page by page. It ends after the first error.
func (c *Client) Tasks(ctx context.Context, f Filter) iter.Seq2[Task, error] {
	return entries[Task](ctx, c, "/v1/tasks", listQuery(f))
}

// Cancel asks a task to stop. It keeps what is done, and calls in flight are cancelled. Repeating it, or cancelling a task that
// has ended, changes nothing.
func (c *Client) Cancel(ctx context.Context, id string) (Task, error) {
	return post[Task](ctx, c, taskPath(id, "cancel"), nil)
}

// PauseTask pauses a task and the tasks that work for it: calls in flight finish, and no new call is made. The reason, which may
// be "", is shown to readers of the task. A task that has ended, or waits for its start time, is a Conflict. Repeating it changes
// nothing.
func (c *Client) PauseTask(ctx context.Context, id, reason string) (Task, error) {
	return post[Task](ctx, c, taskPath(id, "pause"), map[string]string{"reason": reason})
}

// ResumeTask continues a paused task. A task that has ended, or waits for its start time, is a Conflict. Repeating it changes
// nothing.
func (c *Client) ResumeTask(ctx context.Context, id string) (Task, error) {
	return post[Task](ctx, c, taskPath(id, "resume"), nil)
}

// Input answers a request of a task, or sends a message to an agent. The first answer counts: repeating it changes nothing, and
// another answer is a Conflict. A message that is repeated is received twice.
func (c *Client) Input(ctx context.Context, id string, reply Reply) (Task, error) {
	return post[Task](ctx, c, taskPath(id, "input"), reply)
}

// Timeline returns what happened in a task, in order: steps, attempts, pauses.
func (c *Client) Timeline(ctx context.Context, id string) ([]Event, error) {
	return collect(entries[Event](ctx, c, taskPath(id, "timeline"), params()))
}
