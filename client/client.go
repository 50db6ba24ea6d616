package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"longhaul/internal/task"
)

// Client calls one API. The zero times mean the usual ones.
type Client struct {
	base     string
	key      string
	http     *http.Client
	Pause    time.Duration // before the first repetition while watching; 0 means half a second
	Patience time.Duration // how long a watch bears a server that does not answer; 0 means two minutes
	Silence  time.Duration // how long a stream of events may be silent, if less than usual
}

// New gives a client of the API at an address. An empty key sends none.
func New(address, key string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the address of the API must look like http://127.0.0.1:8080")
	}
	return &Client{base: strings.TrimRight(address, "/"), key: key, http: &http.Client{}}, nil
}

// Unreachable says that the server gave no answer, or none of ours.
type Unreachable struct {
	Address string
	Err     error
}

// Error is the sentence for the person who waits.
func (u *Unreachable) Error() string {
	return fmt.Sprintf("no answer from the API at %s: %v", u.Address, u.Err)
}

// Unwrap gives what was behind it.
func (u *Unreachable) Unwrap() error { return u.Err }

// call is one request. A nil body sends none.
type call struct {
	method, path string
	body         io.Reader
	header       http.Header
	size         int64 // of the body, where net/http cannot tell
}

// send makes a call and gives the answer of a success, whose body the caller closes.
func (c *Client) send(ctx context.Context, q call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, c.base+q.path, q.body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if q.size > 0 {
		req.ContentLength = q.size
	}
	maps.Copy(req.Header, q.header)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, c.refusal(ctx, resp)
}

// lost tells a caller who left from a server that did not answer.
func (c *Client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &Unreachable{Address: c.base, Err: err}
}

func (c *Client) refusal(ctx context.Context, resp *http.Response) error {
	const enough = 1 << 20
	text, err := io.ReadAll(io.LimitReader(resp.Body, enough))
	if err != nil {
		return c.lost(ctx, err)
	}
	var problem task.Error
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(text, &problem) != nil {
		return &Unreachable{Address: c.base, Err: fmt.Errorf("HTTP %s, which was not longhaul: a proxy in between, or another program", resp.Status)}
	}
	return &problem
}

// fetch makes a call and decodes its answer.
func fetch[T any](ctx context.Context, c *Client, q call) (T, error) {
	var v T
	resp, err := c.send(ctx, q)
	if err != nil {
		return v, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return v, c.lost(ctx, err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, &Unreachable{Address: c.base, Err: fmt.Errorf("the answer is not from longhaul: %w", err)}
	}
	return v, nil
}

// post sends JSON. With a key it may be repeated, by net/http too: what it starts is started once; "" is none.
func post[T any](ctx context.Context, c *Client, path, idempotencyKey string, body any) (answer T, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if idempotencyKey != "" {
		header.Set("Idempotency-Key", idempotencyKey)
	}
	return fetch[T](ctx, c, call{method: http.MethodPost, path: path, body: bytes.NewReader(text), header: header})
}

// NewTask is what a task is created from.
type NewTask struct {
	Kind     string            `json:"kind"`
	Input    json.RawMessage   `json:"input"`
	Labels   map[string]string `json:"labels,omitempty"`
	Priority int               `json:"priority,omitempty"`
	Delay    string            `json:"delay,omitempty"`
	StartAt  string            `json:"start_at,omitempty"`
	Deadline string            `json:"deadline,omitempty"`
	Model    string            `json:"model,omitempty"`
	Budget   float64           `json:"budget,omitempty"` // the most it may cost; 0 means no limit
	Webhook  *task.Webhook     `json:"webhook,omitempty"`
	Notify   *Notify           `json:"notify,omitempty"`
}

// Notify is who is told how a task goes beside its webhook.
type Notify struct {
	Email string `json:"email"`
}

// Create starts a task. With the same key and body it may be repeated: the task is the same.
func (c *Client) Create(ctx context.Context, n NewTask, idempotencyKey string) (task.Task, error) {
	return post[task.Task](ctx, c, "/v1/tasks", idempotencyKey, n)
}

// Get shows a task.
func (c *Client) Get(ctx context.Context, id string) (task.Task, error) {
	return fetch[task.Task](ctx, c, get(taskPath(id)))
}

// Cancel asks a task to stop.
func (c *Client) Cancel(ctx context.Context, id string) (task.Task, error) {
	return fetch[task.Task](ctx, c, call{method: http.MethodPost, path: taskPath(id, "cancel")})
}

// Input tells a task what a person says: an answer to one of its requests, or a message.
func (c *Client) Input(ctx context.Context, id string, reply task.Reply) (task.Task, error) {
	return post[task.Task](ctx, c, taskPath(id, "input"), "", reply)
}

// List lists tasks; zero fields of the filter do not filter.
func (c *Client) List(ctx context.Context, f task.Filter) (task.Page[task.Task], error) {
	q := url.Values{}
	put(q, "status", string(f.Status))
	put(q, "kind", f.Kind)
	put(q, "cursor", f.Cursor)
	if f.Limit > 0 {
		put(q, "limit", fmt.Sprint(f.Limit))
	}
	for k, v := range f.Labels {
		q.Add("label", k+":"+v)
	}
	return fetch[task.Page[task.Task]](ctx, c, get("/v1/tasks", q))
}

// Items lists every item with a status, or all of them when it is empty.
func (c *Client) Items(ctx context.Context, id string, status task.ItemStatus) ([]task.Item, error) {
	q := url.Values{}
	put(q, "status", string(status))
	var all []task.Item
	for {
		page, err := fetch[task.Page[task.Item]](ctx, c, get(taskPath(id, "items"), q))
		all = append(all, page.Data...)
		if err != nil || page.NextCursor == nil {
			return all, err
		}
		q.Set("cursor", *page.NextCursor)
	}
}

// Artifacts lists the files a task produced.
func (c *Client) Artifacts(ctx context.Context, id string) ([]task.Artifact, error) {
	page, err := fetch[task.Page[task.Artifact]](ctx, c, get(taskPath(id, "artifacts")))
	return page.Data, err
}

// Artifact opens one of them. The caller closes it.
func (c *Client) Artifact(ctx context.Context, id, name string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, get(taskPath(id, "artifacts", name)))
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Result opens the result, which is JSON; task.NotReady while the task runs. The caller closes it.
func (c *Client) Result(ctx context.Context, id string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, get(taskPath(id, "result")))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusAccepted {
		_ = resp.Body.Close()
		return nil, task.Errorf(task.NotReady, "task %s has no result yet", id)
	}
	return resp.Body, nil
}

// Kinds lists the kinds of task.
func (c *Client) Kinds(ctx context.Context) ([]task.KindInfo, error) {
	page, err := fetch[task.Page[task.KindInfo]](ctx, c, get("/v1/kinds"))
	return page.Data, err
}

func get(path string, query ...url.Values) call {
	for _, q := range query {
		if len(q) > 0 {
			path += "?" + q.Encode()
		}
	}
	return call{method: http.MethodGet, path: path}
}

func put(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func taskPath(id string, more ...string) string {
	path := []string{"/v1/tasks", url.PathEscape(id)}
	for _, step := range more {
		path = append(path, url.PathEscape(step))
	}
	return strings.Join(path, "/")
}
