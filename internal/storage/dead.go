package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"time"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// DeadLetters stores failed tasks until a person has settled them, and afterwards what was done. Dead letters outlive
// Temporal's retention.
type DeadLetters struct{ bucket *Bucket }

// NewDeadLetters returns the dead letters of a bucket.
func NewDeadLetters(b *Bucket) DeadLetters { return DeadLetters{bucket: b} }

// StoredDeadLetter is a dead letter with the facts that a replay of its task needs.
type StoredDeadLetter struct {
	task.DeadLetter
	Facts record.Facts `json:"facts"`
}

// deadEnd is larger than any timestamp in milliseconds in a key.
const deadEnd = 10_000_000_000_000

// deadName returns the last part of a dead letter's key, which orders dead letters from newest to oldest.
func deadName(at time.Time, id string) string {
	return fmt.Sprintf("%013d-%s.json", deadEnd-at.UnixMilli(), id)
}

var deadNames = regexp.MustCompile(`^[0-9]{13}-task_[a-z2-7]{26}\.json$`)

// IsDeadName reports whether a text has the form of a dead letter's name, which also serves as a cursor.
func IsDeadName(text string) bool { return deadNames.MatchString(text) }

// deadPrefix is the prefix of a tenant's open or settled dead letters.
func deadPrefix(tenant string, open bool) string {
	if open {
		return "dead/" + tenant + "/open/"
	}
	return "dead/" + tenant + "/settled/"
}

// deadIndex is the key that maps a task to the name of its dead letter, so that it is found without listing.
func deadIndex(tenant, id string) string { return "dead/" + tenant + "/names/" + id + ".json" }

// Write keeps a dead letter. A second write with the same time replaces the first. The index is written last, so a
// dead letter that Has reports can be read.
func (d DeadLetters) Write(ctx context.Context, tenant string, g StoredDeadLetter) error {
	name := deadName(g.At, g.ID)
	if err := d.bucket.PutJSON(ctx, deadPrefix(tenant, true)+name, g); err != nil {
		return err
	}
	return d.bucket.PutJSON(ctx, deadIndex(tenant, g.ID), name)
}

// All iterates over the names of a tenant's dead letters, newest first, after a cursor. Each name is a cursor.
func (d DeadLetters) All(ctx context.Context, tenant string, open bool, cursor string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := d.bucket.List(ctx, deadPrefix(tenant, open))
		if err != nil {
			yield("", err)
			return
		}
		for _, e := range entries {
			if e.Name > cursor && !yield(e.Name, nil) {
				return
			}
		}
	}
}

// Read returns a dead letter by name; ErrNotFound if it is not in the given state.
func (d DeadLetters) Read(ctx context.Context, tenant string, open bool, name string) (g StoredDeadLetter, err error) {
	return g, d.bucket.GetJSON(ctx, deadPrefix(tenant, open)+name, &g)
}

// Find returns the dead letter of a task, open or settled; ErrNotFound if the task has no dead letter.
func (d DeadLetters) Find(ctx context.Context, tenant, id string) (StoredDeadLetter, error) {
	var name string
	if err := d.bucket.GetJSON(ctx, deadIndex(tenant, id), &name); err != nil {
		return StoredDeadLetter{}, err
	}
	g, err := d.Read(ctx, tenant, true, name)
	if errors.Is(err, ErrNotFound) {
		g, err = d.Read(ctx, tenant, false, name)
	}
	return g, err
}

// Has reports whether a task has a dead letter, open or settled.
func (d DeadLetters) Has(ctx context.Context, tenant, id string) (bool, error) {
	return d.bucket.Exists(ctx, deadIndex(tenant, id))
}

// Count returns the number of a tenant's open dead letters, and how many of them are newer than a time. It is called
// often and therefore does not list settled dead letters.
func (d DeadLetters) Count(ctx context.Context, tenant string, since time.Time) (open, newer int, err error) {
	for name, err := range d.All(ctx, tenant, true, "") {
		if err != nil {
			return 0, 0, err
		}
		if open++; name < deadName(since, "") { // newest first
			newer++
		}
	}
	return open, newer, nil
}

// Settle changes a dead letter and moves it from open to settled; ErrNotFound if the task has no dead letter. It is idempotent.
func (d DeadLetters) Settle(ctx context.Context, tenant, id string, change func(*task.DeadLetter)) (StoredDeadLetter, error) {
	g, err := d.Find(ctx, tenant, id)
	if err != nil {
		return g, err
	}
	change(&g.DeadLetter)
	name := deadName(g.At, g.ID)
	if err := d.bucket.PutJSON(ctx, deadPrefix(tenant, false)+name, g); err != nil {
		return g, err
	}
	return g, d.bucket.Delete(ctx, deadPrefix(tenant, true)+name)
}
