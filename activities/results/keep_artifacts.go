package results

import (
	"context"
	"encoding/json"

	"golang.org/x/sync/errgroup"

	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// KeepArtifacts copies the artifacts of items that KeepItems took over. The result of each item names its artifact in
// the field artifact, and where to download it in the field href. A retry copies again.
func (a *Store) KeepArtifacts(ctx context.Context, t record.TaskRef, kept []int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(Parallel)
	for _, index := range kept {
		g.Go(func() error { return a.keepArtifact(ctx, t, index) })
	}
	return g.Wait()
}

func (a *Store) keepArtifact(ctx context.Context, t record.TaskRef, index int) error {
	item, err := a.ReadItem(ctx, t, index)
	if err != nil {
		return err
	}
	var result map[string]json.RawMessage
	var name string
	if err := json.Unmarshal(item.Result, &result); err != nil {
		return err
	}
	if err := json.Unmarshal(result["artifact"], &name); err != nil {
		return err
	}
	if err := a.Bucket.Copy(ctx, storage.ArtifactKey(t.ID, name), storage.ArtifactKey(t.Keep.ID, name)); err != nil {
		return err
	}
	if result["href"], err = json.Marshal(ArtifactHref(t, name)); err != nil {
		return err
	}
	if item.Result, err = json.Marshal(result); err != nil {
		return err
	}
	return a.WriteItem(ctx, t, item)
}
