package workflows_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/activities"
	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
	"longhaul/internal/video/wire"
	"longhaul/workflows"
)

// videoBench is a bench over a scripted provider of videos.
type videoBench struct {
	*bench
	videos *videotest.Provider
}

func newVideoBench(t *testing.T, dialect string, options videotest.Options) *videoBench {
	t.Helper()
	b := &videoBench{bench: newBench(t), videos: videotest.New(t, options)}
	client, err := wire.New(wire.Config{Name: "scripted", BaseURL: b.videos.URL(dialect), Dialect: dialect, Key: "sk-secret", IdleTimeout: 5 * time.Second})
	require.NoError(t, err)
	b.do.Videos = activities.Videos{
		Name: "scripted", Provider: client, Lane: openGate{}, Model: "test-video", Timeout: time.Minute, Doubt: time.Millisecond,
		Every: time.Millisecond, PerSecond: 0.5, PerJob: 0.25, Currency: "USD",
	}
	return b
}

// facts lays the input down and gives the facts of a task.
func (b *videoBench) facts(in task.VideoInput) workflows.Facts {
	facts := b.start(task.SummaryInput{})
	in.Normalize()
	require.NoError(b.t, b.bucket.PutJSON(b.t.Context(), facts.InputKey, in))
	facts.Kind = "video"
	return facts
}

// render runs a task to its end and gives its last snapshot.
func (b *videoBench) render(start workflows.Start) workflows.Snapshot {
	b.env.ExecuteWorkflow("video", start)
	require.True(b.t, b.env.IsWorkflowCompleted())
	return b.state()
}

func (b *videoBench) result() activities.VideoOutput {
	var out activities.VideoOutput
	require.NoError(b.t, b.bucket.GetJSON(b.t.Context(), storage.ResultKey(b.id), &out))
	return out
}

// requireFilm checks the file of a video, byte by byte.
func (b *videoBench) requireFilm(v activities.VideoItem, prompt string) {
	b.t.Helper()
	require.Equal(b.t, task.ItemSucceeded, v.Status, "%+v", v.Error)
	data, err := b.bucket.Get(b.t.Context(), storage.ArtifactKey(b.id, v.Artifact))
	require.NoError(b.t, err)
	require.Equal(b.t, videotest.Film(prompt), data)
	sum := sha256.Sum256(data)
	require.Equal(b.t, hex.EncodeToString(sum[:]), v.SHA256)
	require.Equal(b.t, "/v1/tasks/"+b.id+"/artifacts/"+v.Artifact, v.Href)
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
