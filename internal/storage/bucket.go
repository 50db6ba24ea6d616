package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file:// buckets
	_ "gocloud.dev/blob/memblob"  // mem:// buckets, for tests
	_ "gocloud.dev/blob/s3blob"   // s3:// buckets
	"gocloud.dev/gcerrors"
)

// ErrNotFound is the error of reading a missing key.
var ErrNotFound = errors.New("not in the bucket")

// Bucket stores all blobs. It is safe for concurrent use.
type Bucket struct{ blobs *blob.Bucket }

// Open opens the bucket at a URL: file:///absolute/folder (created if missing), mem://, or
// s3://name?region=…&endpoint=…. It does not contact a remote bucket: see Check.
func Open(ctx context.Context, address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("bucket URL: %w", err)
	}
	if u.Scheme == "file" {
		if err := os.MkdirAll(filepath.FromSlash(u.Path), 0o700); err != nil {
			return nil, fmt.Errorf("make the bucket's folder: %w", err)
		}
		// Renames must stay on one file system; names and types are in our own records.
		q := u.Query()
		q.Set("no_tmp_dir", "true")
		q.Set("metadata", "skip")
		u.RawQuery = q.Encode()
	}
	blobs, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", u.Redacted(), err)
	}
	return &Bucket{blobs: blobs}, nil
}

// Close releases the bucket's connections.
func (b *Bucket) Close() error { return b.blobs.Close() }

// Check verifies that the bucket is accessible.
func (b *Bucket) Check(ctx context.Context) error {
	ok, err := b.blobs.IsAccessible(ctx)
	if err == nil && !ok {
		err = errors.New("the bucket does not exist or refuses access")
	}
	return err
}

// Put writes a blob, replacing an existing one. It is atomic: readers see the old or the new bytes.
func (b *Bucket) Put(ctx context.Context, key, contentType string, data []byte) error {
	err := b.blobs.WriteAll(ctx, key, data, &blob.WriterOptions{ContentType: contentType})
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// PutFrom streams a blob from write, without holding it in memory. If write fails, nothing is stored and its error is
// returned unchanged.
func (b *Bucket) PutFrom(ctx context.Context, key, contentType string, write func(io.Writer) error) error {
	// Cancelling the context aborts a write; closing the writer would store half a blob.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.blobs.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType})
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if err := write(w); err != nil {
		cancel()
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// Get reads a whole blob; ErrNotFound if it is missing.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := b.blobs.ReadAll(ctx, key)
	return data, readError(key, err)
}

// GetRange reads the bytes [start, end) of a blob.
func (b *Bucket) GetRange(ctx context.Context, key string, start, end int64) ([]byte, error) {
	r, err := b.blobs.NewRangeReader(ctx, key, start, end-start, nil)
	if err != nil {
		return nil, readError(key, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	return data, readError(key, err)
}

// PutJSON writes a value as JSON.
func (b *Bucket) PutJSON(ctx context.Context, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	return b.Put(ctx, key, "application/json", data)
}

// GetJSON reads a JSON value; ErrNotFound if it is missing.
func (b *Bucket) GetJSON(ctx context.Context, key string, into any) error {
	data, err := b.Get(ctx, key)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode %s: %w", key, err)
	}
	return nil
}

// PutNewJSON writes a value as JSON unless the key exists, and reports whether it wrote. Of several concurrent writers
// exactly one succeeds.
func (b *Bucket) PutNewJSON(ctx context.Context, key string, v any) (bool, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", key, err)
	}
	err = b.blobs.WriteAll(ctx, key, data, &blob.WriterOptions{ContentType: "application/json", IfNotExist: true})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write %s: %w", key, err)
	}
	return true, nil
}

// Exists reports whether a key exists.
func (b *Bucket) Exists(ctx context.Context, key string) (bool, error) {
	there, err := b.blobs.Exists(ctx, key)
	return there, readError(key, err)
}

// Delete removes a key; a missing key is not an error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	err := b.blobs.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return err
}

// Copy copies a blob; ErrNotFound if the source is missing.
func (b *Bucket) Copy(ctx context.Context, to, from string) error {
	return readError(from, b.blobs.Copy(ctx, to, from, nil))
}

// List returns the objects directly below a prefix, which ends in a slash, ordered by key.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Entry, error) {
	const most = 100 // attempts: in a folder bucket, files renamed by concurrent writes make a listing fail
	for n := 1; ; n++ {
		entries, err := b.list(ctx, prefix)
		if gcerrors.Code(err) != gcerrors.NotFound || n == most || ctx.Err() != nil {
			return entries, err
		}
	}
}

func (b *Bucket) list(ctx context.Context, prefix string) ([]Entry, error) {
	var entries []Entry
	it := b.blobs.List(&blob.ListOptions{Prefix: prefix, Delimiter: "/"})
	for {
		object, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		// Files with this suffix are unfinished writes of a folder bucket.
		if !object.IsDir && !strings.HasSuffix(object.Key, ".tmp") {
			entries = append(entries, Entry{Name: strings.TrimPrefix(object.Key, prefix), Bytes: object.Size, ModTime: object.ModTime})
		}
	}
}

// Entry is an object in a List.
type Entry struct {
	Name    string // the key without the prefix
	Bytes   int64
	ModTime time.Time
}

// Object is an open, seekable blob. The caller closes it.
type Object struct {
	io.ReadSeekCloser
	Bytes   int64
	ModTime time.Time
}

// Object opens a blob for reading; ErrNotFound if it is missing.
func (b *Bucket) Object(ctx context.Context, key string) (*Object, error) {
	r, err := b.blobs.NewReader(ctx, key, nil)
	if err != nil {
		return nil, readError(key, err)
	}
	return &Object{ReadSeekCloser: r, Bytes: r.Size(), ModTime: r.ModTime()}, nil
}

func readError(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return fmt.Errorf("read %s: %w", key, ErrNotFound)
	default:
		return fmt.Errorf("read %s: %w", key, err)
	}
}
