package storage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"longhaul/internal/task"
)

// Files stores the uploads of all tenants, content-addressed per tenant: equal bytes are one file, whatever their
// names. A tenant cannot access, or detect, another tenant's file.
type Files struct{ bucket *Bucket }

// NewFiles returns the uploads of a bucket.
func NewFiles(b *Bucket) Files { return Files{bucket: b} }

// Save streams an upload into the bucket and returns its file. More than limit bytes give task.TooLarge; if r fails
// nothing is stored. Saving the same bytes again returns the same id with the new name.
func (f Files) Save(ctx context.Context, tenant, name, contentType string, r io.Reader, limit int64) (task.File, error) {
	upload := "uploads/" + rand.Text()
	sum, size, err := f.receive(ctx, upload, r, limit)
	if err != nil {
		return task.File{}, err
	}
	file := task.File{
		ID: fileID(sum), Object: "file", Name: name, ContentType: contentType,
		Bytes: size, SHA256: sum, CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
	}
	// The bytes are stored first: a record must never exist without its bytes.
	if err := f.bucket.blobs.Copy(ctx, bytesKey(tenant, file.ID), upload, nil); err != nil {
		return task.File{}, fmt.Errorf("store upload: %w", err)
	}
	if err := f.bucket.PutJSON(ctx, recordKey(tenant, file.ID), file); err != nil {
		return task.File{}, err
	}
	return file, f.bucket.Delete(ctx, upload)
}

func (f Files) receive(ctx context.Context, key string, r io.Reader, limit int64) (sum string, size int64, err error) {
	hash := sha256.New()
	err = f.bucket.PutFrom(ctx, key, "application/octet-stream", func(w io.Writer) error {
		size, err = io.Copy(io.MultiWriter(w, hash), io.LimitReader(r, limit+1))
		if err == nil && size > limit {
			err = task.Errorf(task.TooLarge, "the file is larger than %d bytes, the limit of one upload", limit)
		}
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// Stat returns a file of a tenant; task.NotFound if it is missing.
func (f Files) Stat(ctx context.Context, tenant, id string) (task.File, error) {
	var file task.File
	err := task.Errorf(task.NotFound, "no file %q", id)
	if !validFileID(id) {
		return file, err
	}
	switch readErr := f.bucket.GetJSON(ctx, recordKey(tenant, id), &file); {
	case errors.Is(readErr, ErrNotFound):
		return file, err
	case readErr != nil:
		return file, readErr
	}
	return file, nil
}

// Open opens a file for reading.
func (f Files) Open(ctx context.Context, tenant, id string) (*Object, error) {
	if _, err := f.Stat(ctx, tenant, id); err != nil {
		return nil, err
	}
	return f.bucket.Object(ctx, bytesKey(tenant, id))
}

// Delete deletes a file. Tasks that have read it keep their results; tasks that have not will fail on it.
func (f Files) Delete(ctx context.Context, tenant, id string) error {
	if _, err := f.Stat(ctx, tenant, id); err != nil {
		return err
	}
	// The record is deleted first, so that no reader finds a record without bytes.
	if err := f.bucket.Delete(ctx, recordKey(tenant, id)); err != nil {
		return err
	}
	return f.bucket.Delete(ctx, bytesKey(tenant, id))
}

// SweepUploads deletes unfinished uploads from before a time. Call it at start.
func (f Files) SweepUploads(ctx context.Context, before time.Time) error {
	left, err := f.bucket.List(ctx, "uploads/")
	for _, entry := range left {
		if entry.ModTime.Before(before) {
			err = errors.Join(err, f.bucket.Delete(ctx, "uploads/"+entry.Name))
		}
	}
	return err
}

// fileIDLength is the length of "file_" and 40 hex digits, 160 bits of the SHA-256.
const fileIDLength = len("file_") + 40

func fileID(sum string) string { return "file_" + sum[:40] }

func validFileID(id string) bool {
	if len(id) != fileIDLength || id[:5] != "file_" {
		return false
	}
	_, err := hex.DecodeString(id[5:])
	return err == nil
}

func bytesKey(tenant, id string) string  { return "files/" + tenant + "/" + id }
func recordKey(tenant, id string) string { return bytesKey(tenant, id) + ".json" }
