package results

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// ItemSoFar is what an item used before the call that completes it.
type ItemSoFar struct {
	Usage   task.Usage `json:"usage,omitzero"`
	Calls   int        `json:"calls,omitempty"`
	Parts   int        `json:"parts,omitempty"`   // of the document
	Missing []string   `json:"missing,omitempty"` // parts that are not in the summary, and why
}

// saveItem writes an item's record. A paid result is recorded even while the task is cancelled.
func (a *Store) WriteItem(ctx context.Context, t record.TaskRef, item task.Item) error {
	item.ID = strconv.Itoa(item.Index)
	return a.Bucket.PutJSON(context.WithoutCancel(ctx), storage.ItemKey(t.ID, item.Index), item)
}

func (a *Store) ReadItem(ctx context.Context, t record.TaskRef, index int) (task.Item, error) {
	var item task.Item
	err := a.Bucket.GetJSON(ctx, storage.ItemKey(t.ID, index), &item)
	return item, err
}

// resultOf reads the result of an item; nil of one that did not succeed.
func ResultOf[T any](item task.Item) (*T, error) {
	if item.Status != task.ItemSucceeded {
		return nil, nil
	}
	result := new(T)
	if err := json.Unmarshal(item.Result, result); err != nil {
		return nil, fmt.Errorf("result of item %d: %w", item.Index, err)
	}
	return result, nil
}

// artifactHref is where a task's artifact can be had.
func ArtifactHref(t record.TaskRef, name string) string {
	return "/v1/tasks/" + t.ID + "/artifacts/" + name
}
