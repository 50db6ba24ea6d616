package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// call is one request. A nil body sends none.
type call struct {
	method, path string
	body         io.Reader
	header       http.Header
	size         int64 // of the body, where net/http cannot tell
}

// send makes a call and returns the answer of a success, whose body the caller closes.
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
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return nil, c.noAnswer(ctx, err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, c.refusal(ctx, resp)
}

// fetch makes a call and decodes the JSON of its answer.
func fetch[T any](ctx context.Context, c *Client, q call) (answer T, err error) {
	resp, err := c.send(ctx, q)
	if err != nil {
		return answer, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer, c.noAnswer(ctx, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, c.noAnswer(ctx, fmt.Errorf("the answer is not from longhaul: %w", err))
	}
	return answer, nil
}

// open makes a call and returns the body of its answer.
func (c *Client) open(ctx context.Context, q call) (io.ReadCloser, error) {
	resp, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// execute makes a call whose answer has no body.
func (c *Client) execute(ctx context.Context, q call) error {
	body, err := c.open(ctx, q)
	if err != nil {
		return err
	}
	return body.Close()
}

func get(path string, query url.Values) call {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return call{method: http.MethodGet, path: path}
}

// post sends a body as JSON, or no body if it is nil.
func post[T any](ctx context.Context, c *Client, path string, body any) (answer T, err error) {
	return postWith[T](ctx, c, path, body, http.Header{})
}

// start posts a request that starts a task. The key makes repetitions safe, those of net/http too; "" is replaced by a random
// key.
func start[T any](ctx context.Context, c *Client, path, idempotencyKey string, body any) (answer T, err error) {
	return postWith[T](ctx, c, path, body, http.Header{"Idempotency-Key": {cmp.Or(idempotencyKey, rand.Text())}})
}

func postWith[T any](ctx context.Context, c *Client, path string, body any, header http.Header) (answer T, err error) {
	q := call{method: http.MethodPost, path: path, header: header}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer, fmt.Errorf("encode the request: %w", err)
		}
		header.Set("Content-Type", "application/json")
		q.body = bytes.NewReader(text)
	}
	return fetch[T](ctx, c, q)
}

// list reads the first page of a list, for lists that have only one.
func list[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	page, err := fetch[Page[T]](ctx, c, get(path, nil))
	return page.Data, err
}

// entries reads all pages of a list, each when it is needed, and ends after an error.
func entries[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(query) // each iteration begins with the first page
		for {
			page, err := fetch[Page[T]](ctx, c, get(path, query))
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range page.Data {
				if !yield(entry, nil) {
					return
				}
			}
			if page.NextCursor == nil {
				return
			}
			query.Set("cursor", *page.NextCursor)
		}
	}
}

// collect reads a whole sequence; with an error it returns what came before it.
func collect[T any](entries iter.Seq2[T, error]) (all []T, err error) {
	for entry, err := range entries {
		if err != nil {
			return all, err
		}
		all = append(all, entry)
	}
	return all, nil
}

// params makes a query of names and values, and leaves out zero values.
func params(pairs ...any) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if value := fmt.Sprint(pairs[i+1]); value != "" && value != "0" {
			query.Set(fmt.Sprint(pairs[i]), value)
		}
	}
	return query
}

// pathOf joins a path and steps, which may hold any characters.
func pathOf(root string, steps ...string) string {
	path := []string{root}
	for _, step := range steps {
		path = append(path, url.PathEscape(step))
	}
	return strings.Join(path, "/")
}

func taskPath(id string, steps ...string) string {
	return pathOf("/v1/tasks", append([]string{id}, steps...)...)
}
