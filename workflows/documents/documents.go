package documents

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	activities "longhaul/activities/documents"
	"longhaul/internal/record"
	"longhaul/workflows/lifecycle"
)

var library *activities.Library // names activities; never called

// Steps names the steps that fetching and reading belong to.
type Steps struct{ Fetch, Read string }

// batchWeight is how much is read in one activity: several documents of a page or two, or one that is longer.
const batchWeight = 16

// BatchSize returns how many of the first documents are read together.
func BatchSize(weights []int) int {
	n, weight := 0, 0
	for ; n < len(weights); n++ {
		if weight += weights[n]; weight > batchWeight && n > 0 {
			break
		}
	}
	return n
}

// readAtOnce is how many batches of documents are fetched and read side by side.
const readAtOnce = 16

// ReadAll fetches and reads documents that are all needed before the work of a task begins. A document that cannot be
// read has its error in its place. The error is that of ctx.
func ReadAll(ctx workflow.Context, steps Steps, t record.TaskRef, inputKey string) ([]activities.Document, error) {
	var groups []activities.Group
	plan := record.PlanRequest{Task: t, InputKey: inputKey}
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, steps.Fetch, "plan the documents"), library.PlanDocuments, plan).Get(ctx, &groups); err != nil {
		return nil, err
	}
	requests, urls := Batches(t, groups)
	texts := make([][]activities.Document, len(requests))
	errs := lifecycle.Each(ctx, readAtOnce, len(requests), func(ctx workflow.Context, i int) (err error) {
		texts[i], err = ReadBatch(ctx, steps, requests[i], urls)
		return err
	})
	return slices.Concat(texts...), lifecycle.FirstError(errs)
}

// Batches shares documents out to reads of about equal size, and lists the documents that must be fetched first. A
// document without weight is left out: it is kept of the replayed task.
func Batches(t record.TaskRef, groups []activities.Group) (batches []activities.ReadRequest, urls []int) {
	for n, g := range groups {
		urls = append(urls, g.URLs...)
		for i := 0; i < len(g.Weights); {
			req := activities.ReadRequest{Task: t, Group: n}
			for range BatchSize(g.Weights[i:]) {
				if g.Weights[i] > 0 {
					req.Indexes = append(req.Indexes, g.From+i)
				}
				i++
			}
			if len(req.Indexes) > 0 {
				batches = append(batches, req)
			}
		}
	}
	return batches, urls
}

// MaxHalvings is how often a part is halved at most: a part of 8,000 tokens comes down to 125.
const MaxHalvings = 6

// Halve cuts a part that a model finds too long in two. A part of one sentence stays one.
func Halve(ctx workflow.Context, step string, req activities.HalveRequest) (halves []activities.Part, err error) {
	options := lifecycle.DocumentWork(ctx, step, fmt.Sprintf("halve a part of document %d", req.Index+1))
	err = workflow.ExecuteActivity(options, library.HalvePart, req).Get(ctx, &halves)
	return halves, err
}

// ReadBatch fetches the documents of a batch that have an address, and reads all that could be fetched.
func ReadBatch(ctx workflow.Context, steps Steps, req activities.ReadRequest, urls []int) ([]activities.Document, error) {
	documents := make([]activities.Document, len(req.Indexes))
	errs := lifecycle.Each(ctx, len(req.Indexes), len(req.Indexes), func(ctx workflow.Context, i int) error {
		if !slices.Contains(urls, req.Indexes[i]) {
			return nil
		}
		return Fetch(ctx, steps, activities.DocumentRequest{Task: req.Task, Group: req.Group, Index: req.Indexes[i]})
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	had := activities.ReadRequest{Task: req.Task, Group: req.Group}
	for i, index := range req.Indexes {
		if errs[i] != nil {
			documents[i] = activities.Document{Label: fmt.Sprintf("document %d", index+1), Error: lifecycle.Reason(errs[i])}
		} else {
			had.Indexes = append(had.Indexes, index)
		}
	}
	texts, err := Read(ctx, steps, had)
	if err != nil {
		return nil, err
	}
	for i, index := range had.Indexes {
		documents[slices.Index(req.Indexes, index)] = texts[i]
	}
	return documents, nil
}

// Fetch downloads a document into the bucket.
func Fetch(ctx workflow.Context, steps Steps, req activities.DocumentRequest) error {
	about := fmt.Sprintf("fetch document %d", req.Index+1)
	return workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, steps.Fetch, about), library.FetchDocument, req).Get(ctx, nil)
}

// Read extracts the text of documents in one activity; without documents it does nothing.
func Read(ctx workflow.Context, steps Steps, req activities.ReadRequest) (texts []activities.Document, err error) {
	n := len(req.Indexes)
	if n == 0 {
		return nil, nil
	}
	about := fmt.Sprintf("read document %d", req.Indexes[0]+1)
	if n > 1 {
		about = fmt.Sprintf("read documents %d to %d", req.Indexes[0]+1, req.Indexes[n-1]+1)
	}
	err = workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, steps.Read, about), library.ReadDocuments, req).Get(ctx, &texts)
	return texts, err
}

// Fail records that a document failed. A failure to record it is logged: the item gets its outcome when the task ends.
func Fail(ctx workflow.Context, step, label string, req activities.FailRequest) {
	options := lifecycle.DocumentWork(ctx, step, fmt.Sprintf("record that %s failed: %s", label, req.Error.Code))
	if err := workflow.ExecuteActivity(options, library.FailItem, req).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("failure not recorded", "task", req.Task.ID, "item", req.Index, "error", err)
	}
}
