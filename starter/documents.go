package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"longhaul/client"
)

// documents makes a document of each source: an http(s) address, - for text from standard input, or else a file to upload. A
// missing file is an error before the first upload.
func (c *cli) documents(ctx context.Context, sources []string) ([]json.RawMessage, error) {
	var total int64
	for _, source := range sources {
		if isAddress(source) || source == "-" {
			continue
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, err
		}
		total += info.Size()
	}
	sent, done := c.uploadBar(ctx, total)
	defer done()
	var all []json.RawMessage
	for _, source := range sources {
		document, err := c.document(ctx, source, sent)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		text, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

func (c *cli) document(ctx context.Context, source string, sent func(int)) (client.Document, error) {
	switch {
	case isAddress(source):
		return client.Document{URL: source}, nil
	case source == "-":
		text, err := c.read("-")
		return client.Document{Text: string(text), Name: "standard input"}, err
	default:
		file, err := c.client.UploadFile(ctx, source, sent)
		return client.Document{FileID: file.ID, Name: filepath.Base(source)}, err
	}
}

func isAddress(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// uploadBar shows on a terminal how much is sent; done removes it.
func (c *cli) uploadBar(ctx context.Context, total int64) (sent func(int), done func()) {
	if total == 0 || !c.live() {
		return func(int) {}, func() {}
	}
	bars := mpb.NewWithContext(ctx, mpb.WithOutput(c.err), mpb.WithWidth(48))
	bar := bars.AddBar(total, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("uploading ")),
		mpb.AppendDecorators(decor.CountersKibiByte(" % .1f / % .1f")))
	return func(n int) { bar.IncrBy(n) }, func() {
		bar.Abort(true) // no effect on a full bar
		bars.Wait()
	}
}
