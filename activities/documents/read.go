package documents

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/document"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// DocumentRequest names one document of a task.
type DocumentRequest struct {
	Task  record.TaskRef `json:"task,omitzero"`
	Group int            `json:"group,omitempty"`
	Index int            `json:"index,omitempty"`
}

// ReadRequest names documents of a group that are read together, because each is small.
type ReadRequest struct {
	Task    record.TaskRef `json:"task,omitzero"`
	Group   int            `json:"group,omitempty"`
	Indexes []int          `json:"indexes,omitempty"`
}

// Document is what a workflow knows of a document that was read: where its parts end, or why it could not be read. The
// text is in the bucket.
type Document struct {
	Label string      `json:"label,omitempty"`
	Ends  []int       `json:"ends,omitempty"` // byte offsets: part i goes from the end of the one before to Ends[i]
	Error *task.Error `json:"error,omitempty"`
}

// Source is what is kept of a document that was read.
type Source struct {
	Name       string   `json:"name"`
	Format     string   `json:"format"`
	Pages      int      `json:"pages,omitempty"`
	Charset    string   `json:"charset,omitempty"`
	Characters int      `json:"characters"`
	Tokens     int      `json:"tokens"`
	Warnings   []string `json:"warnings,omitempty"`
}

// A document is summarised in at most maxParts parts: a longer one gets larger parts, up to
// largestPart tokens, which every model in use takes.
const (
	maxParts      = 400
	MaxPartTokens = 8000
)

// FetchDocument downloads a document into the bucket. A retry downloads it again.
func (a *Library) FetchDocument(ctx context.Context, req DocumentRequest) error {
	heart := call.StartHeartbeat(ctx, "fetching")
	defer heart.Stop()
	_, work, err := a.ManifestEntry(ctx, req.Task, req.Group, req.Index)
	if err != nil {
		return err
	}
	var got document.Fetched
	err = a.Bucket.PutFrom(ctx, storage.DocumentKey(req.Task.ID, req.Index, "source"), "application/octet-stream", func(w io.Writer) error {
		got, err = a.Fetcher.Fetch(ctx, work.URL, w)
		return err
	})
	if err != nil {
		return call.DocumentError(ctx, err)
	}
	return a.Bucket.PutJSON(ctx, storage.DocumentKey(req.Task.ID, req.Index, "fetched.json"), got)
}

// ReadDocuments extracts the text of documents, stores it, and cuts it into parts of a model's size at sentence
// borders, always in the same way. A document that cannot be read has its error in its place; an error of ours fails
// the activity and is retried.
func (a *Library) ReadDocuments(ctx context.Context, req ReadRequest) ([]Document, error) {
	heart := call.StartHeartbeat(ctx, "reading")
	defer heart.Stop()
	documents := make([]Document, len(req.Indexes))
	var done atomic.Int64
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, index := range req.Indexes {
		g.Go(func() (err error) {
			documents[i], err = a.readDocument(reading, DocumentRequest{Task: req.Task, Group: req.Group, Index: index})
			heart.Update(func(b *record.Heartbeat) { b.Done, b.Total = int(done.Add(1)), len(documents) })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, call.DocumentError(ctx, err)
	}
	return documents, nil
}

// readDocument reads one document. A final error of the document is returned in its place.
func (a *Library) readDocument(ctx context.Context, req DocumentRequest) (Document, error) {
	_, work, err := a.ManifestEntry(ctx, req.Task, req.Group, req.Index)
	if err != nil {
		return Document{}, err
	}
	read, err := a.textOf(ctx, req, work)
	if told, ok := errors.AsType[*task.Error](err); ok && !told.Retryable && ctx.Err() == nil {
		return Document{Label: work.Label, Error: told}, nil
	}
	return read, err
}

func (a *Library) textOf(ctx context.Context, req DocumentRequest, work Entry) (Document, error) {
	in, err := a.bring(ctx, req, work)
	if err != nil {
		return Document{}, err
	}
	defer func() { _ = os.Remove(in.Path) }()
	in.Password = work.Password
	text, err := a.Reader.Extract(ctx, in, nil)
	if err != nil {
		return Document{}, err
	}
	return a.keepText(ctx, req, work, in.Name, text)
}

// bring copies a document to a local file for the reader. The caller removes it.
func (a *Library) bring(ctx context.Context, req DocumentRequest, work Entry) (in document.Input, err error) {
	object, err := a.open(ctx, req, work, &in)
	if err != nil {
		return in, err
	}
	defer func() { _ = object.Close() }()
	file, err := os.CreateTemp(a.Scratch, "document-*")
	if err != nil {
		return in, err
	}
	in.Path = file.Name()
	_, err = io.Copy(file, object)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(in.Path)
	}
	return in, err
}

// open finds the bytes of a document, and what is known of its name and type.
func (a *Library) open(ctx context.Context, req DocumentRequest, work Entry, in *document.Input) (*storage.Object, error) {
	key := storage.DocumentKey(req.Task.ID, req.Index, "source")
	switch {
	case work.FileID != "":
		file, err := a.Files.Stat(ctx, req.Task.Tenant, work.FileID)
		if err != nil {
			return nil, err
		}
		in.Name, in.ContentType = file.Name, file.ContentType
		return a.Files.Open(ctx, req.Task.Tenant, work.FileID)
	case work.URL != "":
		var got document.Fetched
		if err := a.Bucket.GetJSON(ctx, storage.DocumentKey(req.Task.ID, req.Index, "fetched.json"), &got); err != nil {
			return nil, err
		}
		in.Name, in.ContentType = got.Name, got.ContentType
		return a.Bucket.Object(ctx, key)
	default:
		in.Name, in.ContentType = "text.md", results.MarkdownType
		return a.Bucket.Object(ctx, key)
	}
}

func (a *Library) keepText(ctx context.Context, req DocumentRequest, work Entry, found string, text document.Text) (Document, error) {
	parts := document.Split(text.Markdown, a.ChunkTokens)
	if len(parts) > maxParts {
		parts = document.Split(text.Markdown, min(max(a.ChunkTokens*len(parts)/maxParts+1, a.ChunkTokens), MaxPartTokens))
	}
	kept := Source{
		Name: work.Label, Format: text.Format, Pages: text.Pages, Charset: text.Charset,
		Characters: len([]rune(text.Markdown)), Warnings: text.Warnings,
	}
	if work.Name == "" && work.Key == "" && found != "" {
		kept.Name = found
	}
	ends := make([]int, len(parts))
	for i, part := range parts {
		ends[i] = part.End
		kept.Tokens += part.Tokens
	}
	if len(parts) > 2*maxParts {
		return Document{}, task.Errorf(task.DocumentTooLarge,
			"the document has about %d tokens of text; at most %d fit into one task item: split it", kept.Tokens, 2*maxParts*MaxPartTokens)
	}
	if err := a.Bucket.Put(ctx, TextKey(req.Task, req.Index), results.MarkdownType, []byte(text.Markdown)); err != nil {
		return Document{}, err
	}
	if len(text.PageStarts) > 0 {
		if err := a.Bucket.PutJSON(ctx, PagesKey(req.Task, req.Index), text.PageStarts); err != nil {
			return Document{}, err
		}
	}
	return Document{Label: kept.Name, Ends: ends}, a.Bucket.PutJSON(ctx, SourceKey(req.Task, req.Index), kept)
}

func TextKey(t record.TaskRef, index int) string { return storage.DocumentKey(t.ID, index, "text.md") }

func PagesKey(t record.TaskRef, index int) string {
	return storage.DocumentKey(t.ID, index, "pages.json")
}

func SourceKey(t record.TaskRef, index int) string {
	return storage.DocumentKey(t.ID, index, "source.json")
}

// Part is a stretch of a document's text, in bytes, at borders of characters.
type Part struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// PartText returns the text of a part.
func (a *Library) PartText(ctx context.Context, t record.TaskRef, index int, part Part) (string, error) {
	text, err := a.Bucket.GetRange(ctx, TextKey(t, index), int64(part.Start), int64(part.End))
	return string(text), err
}

// HalveRequest names a part that a model found too long.
type HalveRequest struct {
	Task  record.TaskRef `json:"task,omitzero"`
	Index int            `json:"index,omitempty"`
	Part  Part           `json:"part,omitzero"`
}

// HalvePart cuts a part in two at a sentence border near its middle.
func (a *Library) HalvePart(ctx context.Context, req HalveRequest) ([]Part, error) {
	heart := call.StartHeartbeat(ctx, "cutting")
	defer heart.Stop()
	text, err := a.PartText(ctx, req.Task, req.Index, req.Part)
	if err != nil {
		return nil, err
	}
	halves := document.Split(text, max(document.Tokens(text)/2+1, 1))
	parts := make([]Part, 0, len(halves))
	for _, half := range halves {
		parts = append(parts, Part{Start: req.Part.Start + half.Start, End: req.Part.Start + half.End})
	}
	return parts, nil
}
