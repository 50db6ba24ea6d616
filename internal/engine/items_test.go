package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Reading an artifact costs one Describe, and no name leads out of the task's folder.
func TestArtifact(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e := engines[0]
	var err error
	e.Bucket, err = storage.Open(t.Context(), "file://"+t.TempDir()) // the kind of bucket in which most names have a meaning
	require.NoError(t, err)
	id := f.run("acme")
	require.NoError(t, e.Bucket.Put(t.Context(), storage.ArtifactKey(id, "report.md"), "text/plain", []byte("# Report")))
	require.NoError(t, e.Bucket.Put(t.Context(), storage.ResultKey(id), "application/json", []byte("{}")))

	before := f.describes.Load()
	a, object, err := e.Artifact(t.Context(), "acme", id, "report.md")
	require.NoError(t, err)
	require.NoError(t, object.Close())
	require.EqualValues(t, 1, f.describes.Load()-before)
	listed, err := e.Artifacts(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, listed.Data, []task.Artifact{a}, "it equals the entry in the list")
	require.Equal(t, "text/markdown; charset=utf-8", a.ContentType)

	for _, name := range []string{"", ".", "..", "../result.json", "other.md", "report.md.attrs", strings.Repeat("a", 300), "a\x00b"} {
		_, _, err := e.Artifact(t.Context(), "acme", id, name)
		require.Equal(t, task.NotFound, task.AsError(err).Code, "%q", name)
	}
	_, _, err = e.Artifact(t.Context(), "other", id, "report.md")
	require.Equal(t, task.NotFound, task.AsError(err).Code)
}
