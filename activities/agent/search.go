package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/internal/retrieval"
	"longhaul/internal/storage"
	"longhaul/internal/tool"
)

// What a search of an agent gives: passages of so many tokens, and so many of them unless it asks otherwise.
const (
	foundTokens   = 400
	foundPassages = 5
)

// search finds passages in the documents of the task, by their words.
func (r *toolRun) search(ctx context.Context) (tool.Result, error) {
	var want tool.SearchArguments
	if err := r.arguments(&want); err != nil {
		return tool.Result{}, err
	}
	if want.Limit == 0 {
		want.Limit = foundPassages
	}
	index, err := r.Indexes.Get("agent/"+r.req.Task.ID, func() (*retrieval.Index, error) { return r.indexOf(context.WithoutCancel(ctx)) })
	if err != nil {
		return tool.Result{}, err
	}
	var found strings.Builder
	for _, n := range index.Best(want.Query, nil, want.Limit*foundTokens) {
		found.WriteString(call.Quote("passage", index.Place(n).String(), index.Words(n)) + "\n")
	}
	if found.Len() == 0 {
		return tool.Result{Text: fmt.Sprintf("no passage has any of these words; there are %d passages", index.Len())}, nil
	}
	return tool.Result{Text: found.String()}, nil
}

// indexOf reads all documents of the task into an index.
func (r *toolRun) indexOf(ctx context.Context) (*retrieval.Index, error) {
	var texts []retrieval.Text
	for i := 0; ; i++ {
		var kept documents.Source
		err := r.Bucket.GetJSON(ctx, documents.SourceKey(r.req.Task, i), &kept)
		if errors.Is(err, storage.ErrNotFound) {
			return retrieval.New(texts), nil
		}
		if err != nil {
			return nil, err
		}
		markdown, err := r.Bucket.Get(ctx, documents.TextKey(r.req.Task, i))
		if err != nil {
			return nil, err
		}
		texts = append(texts, retrieval.Text{Name: kept.Name, Markdown: string(markdown), Passages: retrieval.Cut(string(markdown), foundTokens)})
	}
}
