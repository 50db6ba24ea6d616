package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// ItemSoFar is what an item used before the call that completes it.
type ItemSoFar struct {
	Usage   task.Usage
	Calls   int
	Parts   int      // of the document
	Missing []string // parts that are not in the summary, and why
}

// SummaryResult is the result of one document of a summary task.
type SummaryResult struct {
	Summary string   `json:"summary"`
	Parts   int      `json:"parts"`             // how many model calls its text took
	Missing []string `json:"missing,omitempty"` // parts the summary does not cover, and why
	Source  source   `json:"source"`
}

// complete records an item whose last call has been answered. A reader finds it from then on.
func (a *Activities) complete(ctx context.Context, t Task, index int, so *ItemSoFar, answer Answer) error {
	if so == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // it is paid for: a cancel must not keep the task from telling so
	result := SummaryResult{Parts: so.Parts, Missing: so.Missing}
	var err error
	if result.Summary, err = a.text(ctx, answer.Key); err != nil {
		return err
	}
	if err := a.Bucket.GetJSON(ctx, sourceKey(t, index), &result.Source); err != nil {
		return err
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return err
	}
	calls := so.Calls + answer.Calls
	return a.saveItem(ctx, t, task.Item{
		Index: index, Status: task.ItemSucceeded, Name: result.Source.Name, Result: encoded,
		Usage: so.Usage.Add(answer.Usage), Attempts: calls, Cached: calls == 0, Model: answer.By, Simulated: answer.Simulated,
	})
}

// FailRequest records an item that failed for good.
type FailRequest struct {
	Task  Task
	Group int
	Index int
	Error *task.Error
	Usage task.Usage
	Calls int
}

// FailItem records the failure of an item, under the name its reader knows it by.
func (a *Activities) FailItem(ctx context.Context, req FailRequest) error {
	heart := startHeart(ctx, "recording")
	defer heart.Stop()
	_, work, err := a.paper(ctx, req.Task, req.Group, req.Index)
	if err != nil {
		return err
	}
	name := work.Label
	var kept source
	if err := a.Bucket.GetJSON(ctx, sourceKey(req.Task, req.Index), &kept); err == nil {
		name = kept.Name
	} else if file, err := a.Files.Stat(ctx, req.Task.Tenant, work.FileID); err == nil && work.Name == "" {
		name = file.Name
	}
	return a.saveItem(ctx, req.Task, task.Item{
		Index: req.Index, Status: task.ItemFailed, Name: name, Error: req.Error, Usage: req.Usage, Attempts: req.Calls,
	})
}

// saveItem writes an item's record. A paid result is recorded even while the task is cancelled.
func (a *Activities) saveItem(ctx context.Context, t Task, item task.Item) error {
	item.ID = strconv.Itoa(item.Index)
	return a.Bucket.PutJSON(context.WithoutCancel(ctx), storage.ItemKey(t.ID, item.Index), item)
}

func (a *Activities) item(ctx context.Context, t Task, index int) (task.Item, error) {
	var item task.Item
	err := a.Bucket.GetJSON(ctx, storage.ItemKey(t.ID, index), &item)
	return item, err
}

// resultOf reads the result of an item; nil of one that did not succeed.
func resultOf[T any](item task.Item) (*T, error) {
	if item.Status != task.ItemSucceeded {
		return nil, nil
	}
	result := new(T)
	if err := json.Unmarshal(item.Result, result); err != nil {
		return nil, fmt.Errorf("result of item %d: %w", item.Index, err)
	}
	return result, nil
}
