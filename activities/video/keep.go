package video

import (
	"context"
	"encoding/json"

	"golang.org/x/sync/errgroup"

	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// keepFiles takes over the files of kept videos.
func (a *Activities) keepFiles(ctx context.Context, t record.TaskRef, kept []int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(results.Parallel)
	for _, index := range kept {
		g.Go(func() error { return a.keepFile(ctx, t, index) })
	}
	return g.Wait()
}

func (a *Activities) keepFile(ctx context.Context, t record.TaskRef, index int) error {
	item, err := a.Results.ReadItem(ctx, t, index)
	if err != nil {
		return err
	}
	result, err := results.ResultOf[VideoResult](item)
	if err != nil {
		return err
	}
	if err := a.Bucket.Copy(ctx, storage.ArtifactKey(t.ID, result.Artifact), storage.ArtifactKey(t.Keep.ID, result.Artifact)); err != nil {
		return err
	}
	result.Href = results.ArtifactHref(t, result.Artifact)
	if item.Result, err = json.Marshal(result); err != nil {
		return err
	}
	return a.Results.WriteItem(ctx, t, item)
}
