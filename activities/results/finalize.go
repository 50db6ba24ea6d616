package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Finished is how a task ended.
type Finished struct {
	Counts    task.Counts    `json:"counts,omitzero"`
	Outcome   task.Outcome   `json:"outcome,omitempty"`
	Simulated bool           `json:"simulated,omitempty"`
	First     *task.Error    `json:"first,omitempty"`    // the error of the first item that failed
	Failures  []task.Failure `json:"failures,omitempty"` // of items, by what went wrong
	Result    *record.Stored `json:"result,omitempty"`   // nil when there is nothing to show
	Usage     *task.Usage    `json:"usage,omitempty"`    // of all that is on record; nil when the workflow has counted it
}

// Cut is what an item used before it was cut off.
type Cut struct {
	Index int        `json:"index,omitempty"`
	Usage task.Usage `json:"usage,omitzero"`
	Calls int        `json:"calls,omitempty"`
}

// What is kept for people and for programs, beside JSON.
const (
	MarkdownType  = "text/markdown; charset=utf-8"
	JSONLinesType = "application/jsonl"
)

// Parallel is how many objects of the bucket an activity reads or writes at a time.
const Parallel = 32

// Finalize reads the outcome of every item, writes the list of items, and counts them.
func (a *Store) Finalize(ctx context.Context, heart *call.Heartbeat, t record.TaskRef, items []task.Item) (Finished, error) {
	if err := a.readOutcomes(ctx, heart, t, items); err != nil {
		return Finished{}, err
	}
	return Tally(items), a.WriteItems(ctx, t, items)
}

// readOutcomes reads the record of every item; an item without one stays as it is.
func (a *Store) readOutcomes(ctx context.Context, heart *call.Heartbeat, t record.TaskRef, items []task.Item) error {
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(Parallel)
	for i := range items {
		g.Go(func() error {
			item, err := a.ReadItem(ctx, t, i)
			if err == nil {
				items[i] = item
			}
			heart.Update(func(b *record.Heartbeat) { b.Done, b.Total = int(done.Add(1)), len(items) })
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

// WriteItems writes the list of items.
func (a *Store) WriteItems(ctx context.Context, t record.TaskRef, items []task.Item) error {
	text, err := JSONLines(items)
	if err != nil {
		return err
	}
	return a.Bucket.Put(ctx, storage.ItemsKey(t.ID), JSONLinesType, text)
}

// Tally counts items by their outcome.
func Tally(items []task.Item) Finished {
	f := Finished{Outcome: task.Full, Counts: task.Counts{Total: len(items)}}
	for _, item := range items {
		f.Simulated = f.Simulated || item.Simulated
		switch item.Status {
		case task.ItemSucceeded:
			f.Counts.Succeeded++
		case task.ItemCancelled:
			f.Counts.Cancelled++
		default:
			f.Counts.Failed++
			f.CountFailure(item)
		}
	}
	switch f.Counts.Succeeded {
	case 0: // also of a task that was stopped before its documents were shared out
		f.Outcome = task.None
	case len(items):
	default:
		f.Outcome = task.Partial
	}
	return f
}

// CountFailure counts the failure of an item.
func (f *Finished) CountFailure(item task.Item) {
	if f.First == nil {
		f.First = item.Error
	}
	f.Failures = task.CountFailure(f.Failures, task.FailedItem{Index: &item.Index, Name: item.Name, Error: item.Error})
}

// WriteResult stores the result of a task, as JSON for programs.
func (a *Store) WriteResult(ctx context.Context, t record.TaskRef, output any) (*record.Stored, error) {
	encoded, err := json.Marshal(output)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(encoded)
	stored := &record.Stored{Bytes: int64(len(encoded)), SHA256: hex.EncodeToString(sum[:])}
	return stored, a.Bucket.Put(ctx, storage.ResultKey(t.ID), "application/json", encoded)
}

// WriteReport stores a Markdown artifact, for people.
func (a *Store) WriteReport(ctx context.Context, t record.TaskRef, name, text string) error {
	return a.Bucket.Put(ctx, storage.ArtifactKey(t.ID, name), MarkdownType, []byte(text))
}

// Unfinished makes an item that has no outcome. Why is what stopped the task.
func Unfinished(index int, name string, why *task.Error) task.Item {
	item := task.Item{ID: strconv.Itoa(index), Index: index, Name: name, Status: task.ItemFailed, Error: why}
	switch {
	case why == nil:
		item.Error = task.Errorf(task.Internal, "the item was lost; run the task again")
	case why.Code == task.TaskCancelled, why.Code == task.CanaryFailed:
		item.Status = task.ItemCancelled
	}
	return item
}

// JSONLines encodes a list as JSON, one entry a line.
func JSONLines[T any](list []T) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, one := range list {
		if err := encoder.Encode(one); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// OneLine replaces white space, line breaks included, by single spaces.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
