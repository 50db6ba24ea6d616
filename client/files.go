package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
)

// Upload sends a file of size bytes under a name. Repeating it returns the same File, because the id is derived from the bytes.
func (c *Client) Upload(ctx context.Context, name string, content io.Reader, size int64) (File, error) {
	contentType := mime.TypeByExtension(filepath.Ext(name))
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	q := call{
		method: http.MethodPost, path: "/v1/files?" + params("name", name).Encode(),
		body: content, size: size, header: http.Header{"Content-Type": {contentType}},
	}
	if size == 0 {
		q.body = nil
	}
	return fetch[File](ctx, c, q)
}

// UploadFile sends a file of this machine under its name. It calls sent, which may be nil, with the number of bytes of each part
// that it sends.
func (c *Client) UploadFile(ctx context.Context, path string, sent func(n int)) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file; the files of a folder must be named one by one", path)
	}
	if err != nil {
		return File{}, err
	}
	return c.Upload(ctx, filepath.Base(path), &countingReader{f, sent}, info.Size())
}

// countingReader reports how many bytes are read.
type countingReader struct {
	io.Reader
	sent func(n int)
}

// Read reads and reports.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.sent != nil && n > 0 {
		r.sent(n)
	}
	return n, err
}

// File describes an upload.
func (c *Client) File(ctx context.Context, id string) (File, error) {
	return fetch[File](ctx, c, get(pathOf("/v1/files", id), nil))
}

// FileContent opens an upload; the caller closes it.
func (c *Client) FileContent(ctx context.Context, id string) (io.ReadCloser, error) {
	return c.open(ctx, get(pathOf("/v1/files", id, "content"), nil))
}

// DeleteFile deletes an upload. Tasks that have read it are not affected. Repeating it is NotFound.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	return c.execute(ctx, call{method: http.MethodDelete, path: pathOf("/v1/files", id)})
}
