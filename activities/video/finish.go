package video

import (
	"context"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// FailVideoRequest records a video that failed for good.
type FailVideoRequest struct {
	VideoRequest
	Name  string       `json:"name,omitempty"`
	Error *task.Error  `json:"error,omitempty"`
	Spent record.Spent `json:"spent,omitzero"`
}

// FailVideo records the failure of an item.
func (a *Activities) FailVideo(ctx context.Context, req FailVideoRequest) error {
	heart := call.StartHeartbeat(ctx, "recording")
	defer heart.Stop()
	return a.Results.WriteItem(ctx, req.Task, task.Item{
		Index: req.Index, Status: task.ItemFailed, Name: req.Name, Error: req.Error, Usage: req.Spent.Usage, Attempts: req.Spent.Calls,
	})
}

// FinishVideoRequest closes the books of a video task, however it ends.
type FinishVideoRequest struct {
	Task  record.TaskRef `json:"task,omitzero"`
	Names []string       `json:"names,omitempty"`
	Rest  *task.Error    `json:"rest,omitempty"` // why items without an outcome have none
	Cut   []CutVideo     `json:"cut,omitempty"`  // what became of those that were in hand
}

// CutVideo is a video that a cancel or the deadline cut off.
type CutVideo struct {
	Index int        `json:"index,omitempty"`
	Said  string     `json:"said,omitempty"` // what became of its job
	Usage task.Usage `json:"usage,omitzero"`
	Calls int        `json:"calls,omitempty"`
}

// VideoOutput is the result of a video task.
type VideoOutput struct {
	Videos []VideoItem `json:"videos"`
}

// VideoItem is one prompt of the result.
type VideoItem struct {
	Index  int             `json:"index"`
	Name   string          `json:"name"`
	Status task.ItemStatus `json:"status"`
	*VideoResult
	Error *task.Error `json:"error,omitempty"`
}

// FinishVideo writes the list of items and the result of a video task. Items that have no outcome yet get one: a
// task that ends leaves none open. Run again it writes the same.
func (a *Activities) FinishVideo(ctx context.Context, req FinishVideoRequest) (results.Finished, error) {
	heart := call.StartHeartbeat(ctx, "storing")
	defer heart.Stop()
	items := req.unsettled()
	finished, err := a.Results.Finalize(ctx, heart, req.Task, items)
	if err != nil || finished.Outcome == task.None {
		return finished, err
	}
	output, err := videoOutput(items)
	if err != nil {
		return results.Finished{}, err
	}
	finished.Result, err = a.Results.WriteResult(ctx, req.Task, output)
	return finished, err
}

// unsettled makes every item as it is when it never came to an outcome.
func (r FinishVideoRequest) unsettled() []task.Item {
	items := make([]task.Item, len(r.Names))
	for i, name := range r.Names {
		items[i] = results.Unfinished(i, name, r.Rest)
	}
	for _, cut := range r.Cut {
		item := &items[cut.Index]
		item.Usage, item.Attempts = cut.Usage, cut.Calls
		if cut.Said != "" {
			e := *item.Error
			e.Detail += "; " + cut.Said
			item.Error = &e
		}
	}
	return items
}

func videoOutput(items []task.Item) (VideoOutput, error) {
	output := VideoOutput{Videos: make([]VideoItem, len(items))}
	for i, item := range items {
		result, err := results.ResultOf[VideoResult](item)
		if err != nil {
			return output, err
		}
		output.Videos[i] = VideoItem{Index: item.Index, Name: item.Name, Status: item.Status, VideoResult: result, Error: item.Error}
	}
	return output, nil
}
