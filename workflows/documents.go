package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
)

// handfulWeight is how much is read in one activity: so many documents of a page or two, or one
// that is longer.
const handfulWeight = 16

// handful is how many of the first documents are read together.
func handful(weights []int) int {
	n, weight := 0, 0
	for ; n < len(weights); n++ {
		if weight += weights[n]; weight > handfulWeight && n > 0 {
			break
		}
	}
	return n
}

// readAtOnce is how many handfuls of documents are fetched and read side by side.
const readAtOnce = 16

// readAll fetches and reads the documents of a task that are all needed before its work begins. A document that
// could not be had has its error in its place. The error is ctx's own.
func readAll(ctx workflow.Context, t activities.Task, inputKey string) ([]activities.Document, error) {
	var groups []activities.Group
	plan := activities.PlanRequest{Task: t, InputKey: inputKey}
	if err := workflow.ExecuteActivity(documentWork(ctx, "share out the documents"), call.PlanDocuments, plan).Get(ctx, &groups); err != nil {
		return nil, err
	}
	var requests []activities.ReadRequest
	var urls []int
	for n, g := range groups {
		urls = append(urls, g.URLs...)
		for i := 0; i < len(g.Weights); {
			req := activities.ReadRequest{Task: t, Group: n}
			for range handful(g.Weights[i:]) {
				req.Indexes = append(req.Indexes, g.From+i)
				i++
			}
			requests = append(requests, req)
		}
	}
	texts := make([][]activities.Document, len(requests))
	errs := each(ctx, readAtOnce, len(requests), func(ctx workflow.Context, i int) (err error) {
		texts[i], err = readHandful(ctx, requests[i], urls)
		return err
	})
	return slices.Concat(texts...), first(errs)
}

// readHandful fetches those of a handful that are at an address, and reads all that could be had.
func readHandful(ctx workflow.Context, req activities.ReadRequest, urls []int) ([]activities.Document, error) {
	documents := make([]activities.Document, len(req.Indexes))
	errs := each(ctx, len(req.Indexes), len(req.Indexes), func(ctx workflow.Context, i int) error {
		if !slices.Contains(urls, req.Indexes[i]) {
			return nil
		}
		return fetch(ctx, activities.DocumentRequest{Task: req.Task, Group: req.Group, Index: req.Indexes[i]})
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	had := activities.ReadRequest{Task: req.Task, Group: req.Group}
	for i, index := range req.Indexes {
		if errs[i] != nil {
			documents[i] = activities.Document{Label: fmt.Sprintf("document %d", index+1), Error: reason(errs[i])}
		} else {
			had.Indexes = append(had.Indexes, index)
		}
	}
	texts, err := read(ctx, had)
	if err != nil {
		return nil, err
	}
	for i, index := range had.Indexes {
		documents[slices.Index(req.Indexes, index)] = texts[i]
	}
	return documents, nil
}

// fetch brings a document from its address into the bucket.
func fetch(ctx workflow.Context, req activities.DocumentRequest) error {
	about := fmt.Sprintf("fetch document %d", req.Index+1)
	return workflow.ExecuteActivity(documentWork(ctx, about), call.FetchDocument, req).Get(ctx, nil)
}

// read gets the text out of documents, in one activity; of none there is nothing to read.
func read(ctx workflow.Context, req activities.ReadRequest) (texts []activities.Document, err error) {
	n := len(req.Indexes)
	if n == 0 {
		return nil, nil
	}
	about := fmt.Sprintf("read document %d", req.Indexes[0]+1)
	if n > 1 {
		about = fmt.Sprintf("read documents %d to %d", req.Indexes[0]+1, req.Indexes[n-1]+1)
	}
	err = workflow.ExecuteActivity(documentWork(ctx, about), call.ReadDocuments, req).Get(ctx, &texts)
	return texts, err
}
