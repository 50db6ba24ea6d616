package client

import "context"

// Kinds returns the kinds of task.
func (c *Client) Kinds(ctx context.Context) ([]KindInfo, error) {
	return list[KindInfo](ctx, c, "/v1/kinds")
}

// Kind returns a kind of task. The Detail of NotFound suggests a kind with a similar name.
func (c *Client) Kind(ctx context.Context, name string) (KindInfo, error) {
	return fetch[KindInfo](ctx, c, get(pathOf("/v1/kinds", name), nil))
}

// Limits are the limits of requests. Sizes are in bytes, lengths in characters.
type Limits struct {
	MaxBody           int64 `json:"max_body_bytes"`
	MaxUpload         int64 `json:"max_upload_bytes"`
	MaxName           int   `json:"max_file_name_length"`
	MaxWait           int   `json:"max_wait_seconds"` // of Wait
	MaxLabels         int   `json:"max_labels"`
	MaxLabelKey       int   `json:"max_label_key_length"`
	MaxLabelValue     int   `json:"max_label_value_length"`
	MaxLabelBytes     int   `json:"max_labels_bytes"` // all keys and values of a task
	MaxIdempotencyKey int   `json:"max_idempotency_key_length"`
	MaxPage           int   `json:"max_page_size"`
	MaxDelay          int   `json:"max_delay_seconds"` // between acceptance and start
	MaxDocuments      int   `json:"max_documents"`     // of a task
	InlineResult      int   `json:"max_inline_result_bytes"`
}

// Limits returns the limits that requests must keep.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	return fetch[Limits](ctx, c, get("/v1/limits", nil))
}

// System returns the state of the installation.
func (c *Client) System(ctx context.Context) (System, error) {
	return fetch[System](ctx, c, get("/v1/system", nil))
}

// Health is the answer of a process that runs.
type Health struct {
	Status  string `json:"status"` // "ok" or "ready"
	Version string `json:"version"`
}

// Health reports that the API process runs.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return fetch[Health](ctx, c, get("/healthz", nil))
}

// Ready reports that the API can accept and read tasks. Unavailable means that Temporal or the bucket cannot be reached.
func (c *Client) Ready(ctx context.Context) (Health, error) {
	return fetch[Health](ctx, c, get("/readyz", nil))
}
