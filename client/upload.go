package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"longhaul/internal/task"
)

// UploadFile sends a file of this machine under its name. It calls sent, which may be nil, with
// the number of bytes of each part as it goes out.
func (c *Client) UploadFile(ctx context.Context, path string, sent func(n int)) (task.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return task.File{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file; a folder's files must be named one by one", path)
	}
	if err != nil {
		return task.File{}, err
	}
	contentType := mime.TypeByExtension(filepath.Ext(path))
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	return fetch[task.File](ctx, c, call{
		method: http.MethodPost, path: "/v1/files?" + url.Values{"name": {filepath.Base(path)}}.Encode(),
		body: &counted{f, sent}, size: info.Size(), header: http.Header{"Content-Type": {contentType}},
	})
}

// counted tells how much has been read.
type counted struct {
	io.Reader
	sent func(n int)
}

// Read reads and tells.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.sent != nil && n > 0 {
		c.sent(n)
	}
	return n, err
}
