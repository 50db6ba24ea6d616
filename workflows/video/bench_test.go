package video_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	activities "longhaul/activities/video"
	"longhaul/internal/record"
	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
	"longhaul/internal/workflowtest"
	"longhaul/workflows"
)

func TestMain(m *testing.M) { workflowtest.Main(m) }

// videoBench is a bench over a scripted provider of videos.
type videoBench struct {
	*workflowtest.Bench
	Videos *videotest.Provider
}

func newVideoBench(t *testing.T, dialect string, options videotest.Options) *videoBench {
	t.Helper()
	b := &videoBench{Bench: workflowtest.New(t)}
	b.Videos = b.UseVideos(dialect, options)
	return b
}

// facts lays the input down and gives the facts of a task.
func (b *videoBench) facts(in task.VideoInput) record.Facts {
	facts := b.Summary(task.SummaryInput{})
	in.Normalize()
	require.NoError(b.T, b.Bucket.PutJSON(b.T.Context(), facts.InputKey, in))
	facts.Kind = "video"
	return facts
}

// render runs a task to its end and gives its last snapshot.
func (b *videoBench) render(start any) record.Snapshot {
	b.Execute("video", start)
	require.True(b.T, b.Env.IsWorkflowCompleted())
	return b.State()
}

func (b *videoBench) result() activities.VideoOutput {
	var out activities.VideoOutput
	require.NoError(b.T, b.Bucket.GetJSON(b.T.Context(), storage.ResultKey(b.ID), &out))
	return out
}

// requireFilm checks the file of a video, byte by byte.
func (b *videoBench) requireFilm(v activities.VideoItem, prompt string) {
	b.T.Helper()
	require.Equal(b.T, task.ItemSucceeded, v.Status, "%+v", v.Error)
	data, err := b.Bucket.Get(b.T.Context(), storage.ArtifactKey(b.ID, v.Artifact))
	require.NoError(b.T, err)
	require.Equal(b.T, videotest.Film(prompt), data)
	sum := sha256.Sum256(data)
	require.Equal(b.T, hex.EncodeToString(sum[:]), v.SHA256)
	require.Equal(b.T, "/v1/tasks/"+b.ID+"/artifacts/"+v.Artifact, v.Href)
}

// What an input may hold, as the API checks it.
func TestVideo_input(t *testing.T) {
	t.Parallel()
	kind, ok := workflows.Find("video")
	require.True(t, ok)
	compiled, err := schema.Compile(schema.Of(kind.Input()))
	require.NoError(t, err)
	for name, test := range map[string]struct{ input, pointer string }{
		"a prompt":            {`{"prompt":"a"}`, ""},
		"everything":          {`{"prompts":["a","b"],"image":{"url":"https://example.com/a.png"},"seconds":5,"resolution":"720p","aspect":"16:9","seed":0}`, ""},
		"pixels":              {`{"prompt":"a","resolution":"1280x720"}`, ""},
		"no prompt":           {`{}`, ""},
		"an empty prompt":     {`{"prompt":""}`, "/prompt"},
		"an empty one of two": {`{"prompts":["a",""]}`, "/prompts/1"},
		"no prompts":          {`{"prompts":[]}`, "/prompts"},
		"too many":            {`{"prompts":["` + strings.Repeat(`a","`, 100) + `a"]}`, "/prompts"},
		"two pictures":        {`{"prompt":"a","image":{"url":"https://example.com/a.png","file_id":"file_a"}}`, "/image"},
		"a local picture":     {`{"prompt":"a","image":{"url":"file:///etc/passwd"}}`, "/image/url"},
		"no time":             {`{"prompt":"a","seconds":0}`, "/seconds"},
		"a strange aspect":    {`{"prompt":"a","aspect":"wide"}`, "/aspect"},
		"a strange size":      {`{"prompt":"a","resolution":"best"}`, "/resolution"},
		"misspelt":            {`{"prompt":"a","secnds":4}`, "/secnds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := compiled.Check([]byte(test.input))
			if test.pointer == "" {
				require.Equal(t, name == "no prompt", len(found) > 0, "%v", found)
				return
			}
			require.Len(t, found, 1, "%v", found)
			require.Equal(t, test.pointer, found[0].Pointer)
		})
	}
}
