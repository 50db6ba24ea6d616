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

// DeadLetters keeps the tasks that failed for good until a person has dealt with them, and what was done with them after that. It outlives the
// history that Temporal keeps.
type DeadLetters struct{ bucket *Bucket }

// NewDeadLetters gives the dead letters of a bucket.
func NewDeadLetters(b *Bucket) DeadLetters { return DeadLetters{bucket: b} }

// StoredDeadLetter is a dead letter with the facts that a replay of its task needs.
type StoredDeadLetter struct {
	task.DeadLetter
	Facts record.Facts `json:"facts"`
}

// deadEnd is beyond the last millisecond that a key can tell.
const deadEnd = 10_000_000_000_000

// deadName is the last part of a dead letter's key: the newest come first.
func deadName(at time.Time, id string) string {
	return fmt.Sprintf("%013d-%s.json", deadEnd-at.UnixMilli(), id)
}

var deadNames = regexp.MustCompile(`^[0-9]{13}-task_[a-z2-7]{26}\.json$`)

// IsDeadName reports whether a text may be the name of a dead letter, which is the cursor of the next.
func IsDeadName(text string) bool { return deadNames.MatchString(text) }

// deadPrefix is where the open ones, or those that were dealt with, of a tenant are.
func deadPrefix(tenant string, open bool) string {
	if open {
		return "dead/" + tenant + "/open/"
	}
	return "dead/" + tenant + "/settled/"
}

// deadIndex is where it is kept under which name the dead letter of a task is: thousands of them are found one by one when they are run again.
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

// All gives the names of a tenant's dead letters, the newest first, from the one behind a cursor on. Each name is a cursor.
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

// Read reads the dead letter of a name; ErrNotFound if it has been dealt with since.
func (d DeadLetters) Read(ctx context.Context, tenant string, open bool, name string) (g StoredDeadLetter, err error) {
	return g, d.bucket.GetJSON(ctx, deadPrefix(tenant, open)+name, &g)
}

// Find gives the dead letter of a task, open or settled; ErrNotFound if there is none.
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

// Has reports whether a task is a dead letter, open or settled.
func (d DeadLetters) Has(ctx context.Context, tenant, id string) (bool, error) {
	return d.bucket.Exists(ctx, deadIndex(tenant, id))
}

// Count gives how many of a tenant's dead letters are open, and how many of these are newer than a time. It is asked often, so it does not go
// through those that were dealt with, of which there may be any number.
func (d DeadLetters) Count(ctx context.Context, tenant string, since time.Time) (open, newer int, err error) {
	for name, err := range d.All(ctx, tenant, true, "") {
		if err != nil {
			return 0, 0, err
		}
		if open++; name < deadName(since, "") { // the newest are first
			newer++
		}
	}
	return open, newer, nil
}

// Settle changes a dead letter that was dealt with, and takes it out of the open ones; ErrNotFound if there is none.
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
