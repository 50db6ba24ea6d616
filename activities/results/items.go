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

// WriteItem writes the record of an item, also while the task is cancelled: it was paid for.
func (a *Store) WriteItem(ctx context.Context, t record.TaskRef, item task.Item) error {
	item.ID = strconv.Itoa(item.Index)
	return a.Bucket.PutJSON(context.WithoutCancel(ctx), storage.ItemKey(t.ID, item.Index), item)
}

// ReadItem reads the record of an item; storage.ErrNotFound if it has none.
func (a *Store) ReadItem(ctx context.Context, t record.TaskRef, index int) (task.Item, error) {
	var item task.Item
	err := a.Bucket.GetJSON(ctx, storage.ItemKey(t.ID, index), &item)
	return item, err
}

// ResultOf decodes the result of an item; nil if the item did not succeed.
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

// ArtifactHref returns the path of an artifact in the API.
func ArtifactHref(t record.TaskRef, name string) string {
	return "/v1/tasks/" + t.ID + "/artifacts/" + name
}
