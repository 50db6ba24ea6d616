package client_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server/servertest"
	"longhaul/client"
)

func newClient(t *testing.T) (*client.Client, *servertest.Tasks) {
	t.Helper()
	tasks := servertest.NewTasks()
	return clientOf(t, servertest.Start(t, servertest.Parts(t, tasks)).URL), tasks
}

func clientOf(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.New(address, "")
	require.NoError(t, err)
	return c
}

var small = client.NewTask{Kind: "summary", Input: client.SummaryInput{Documents: []client.Document{{Text: "a"}}}}

// codeOf is the code of an error of the API.
func codeOf(t *testing.T, err error) client.Code {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	return e.Code
}

func TestTask_toItsResult(t *testing.T) {
	t.Parallel()
	c, tasks := newClient(t)
	tasks.OnCreate = func(id string) {
		tasks.Change(id, func(t *client.Task) { t.Status = client.Processing })
		tasks.Give(id, make([]client.Item, 205), map[string]string{"report.md": "# Report"})
		tasks.Succeed(id, `{"n":9007199254740993}`, client.Full)
	}
	created, err := c.Create(t.Context(), small, "key")
	require.NoError(t, err)
	var states []client.State
	done, err := c.Watch(t.Context(), created.ID, func(t client.Task) { states = append(states, t.Status) })
	require.NoError(t, err)
	require.Equal(t, client.Succeeded, done.Status)
	require.Equal(t, client.Succeeded, states[len(states)-1])
	changed, err := c.Wait(t.Context(), created.ID, 0, time.Minute)
	require.NoError(t, err)
	require.Equal(t, done.Revision, changed.Revision)

	require.Equal(t, `{"n":9007199254740993}`, text(t)(c.Result(t.Context(), created.ID)))
	var result struct{ N int64 }
	require.NoError(t, c.DecodeResult(t.Context(), created.ID, &result))
	require.EqualValues(t, 9007199254740993, result.N)
	items, err := c.Items(t.Context(), created.ID, "")
	require.NoError(t, err)
	require.Len(t, items, 205)
	streamed := 0
	for _, err := range c.StreamItems(t.Context(), created.ID) {
		require.NoError(t, err)
		streamed++
	}
	require.Equal(t, 205, streamed)
	page, err := c.ListItems(t.Context(), created.ID, client.ItemFilter{Limit: 7})
	require.NoError(t, err)
	require.Len(t, page.Data, 7)
	require.NotNil(t, page.NextCursor)
}

func TestTasks_allPages(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	for range 5 {
		n := small
		n.Labels = map[string]string{"project": "atlas"}
		_, err := c.Create(t.Context(), n, "")
		require.NoError(t, err)
	}
	_, err := c.Create(t.Context(), small, "")
	require.NoError(t, err)
	tasks := c.Tasks(t.Context(), client.Filter{Labels: map[string]string{"project": "atlas"}, Limit: 2})
	for range 2 { // a sequence may be read twice
		var ids []string
		for task, err := range tasks {
			require.NoError(t, err)
			ids = append(ids, task.ID)
		}
		require.Equal(t, []string{"task-1", "task-2", "task-3", "task-4", "task-5"}, ids)
	}
	page, err := c.List(t.Context(), client.Filter{Status: client.Pending, Limit: 3})
	require.NoError(t, err)
	require.Len(t, page.Data, 3)
}

func TestArtifact_ranges(t *testing.T) {
	t.Parallel()
	c, tasks := newClient(t)
	created, err := c.Create(t.Context(), small, "")
	require.NoError(t, err)
	tasks.Give(created.ID, nil, map[string]string{"report.md": "# Report"})
	require.Equal(t, "# Report", text(t)(c.Artifact(t.Context(), created.ID, "report.md")))
	require.Equal(t, "port", text(t)(c.ArtifactRange(t.Context(), created.ID, "report.md", 4, 0)))
	require.Equal(t, "Re", text(t)(c.ArtifactRange(t.Context(), created.ID, "report.md", 2, 2)))
	_, err = c.ArtifactRange(t.Context(), created.ID, "report.md", 8, 0)
	require.Equal(t, client.Invalid, codeOf(t, err))
	_, err = c.ArtifactRange(t.Context(), created.ID, "none.md", 0, 0)
	require.Equal(t, client.NotFound, codeOf(t, err))
}

// text reads an opened answer to its end.
func text(t *testing.T) func(io.ReadCloser, error) string {
	return func(body io.ReadCloser, err error) string {
		t.Helper()
		require.NoError(t, err)
		defer func() { _ = body.Close() }()
		all, err := io.ReadAll(body)
		require.NoError(t, err)
		return string(all)
	}
}

func TestErrors_ofTheAPI(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	_, err := c.Get(t.Context(), "no/pe")
	require.Equal(t, client.NotFound, codeOf(t, err))
	_, err = c.Create(t.Context(), client.NewTask{Kind: "summary", Input: []byte(`{}`)}, "")
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok)
	require.Equal(t, "/input/documents", e.Errors[0].Pointer)
	created, err := c.Create(t.Context(), small, "")
	require.NoError(t, err)
	_, err = c.Result(t.Context(), created.ID)
	require.Equal(t, client.NotReady, codeOf(t, err))
	_, err = c.Replay(t.Context(), created.ID, client.ReplayOrder{}, "")
	require.Equal(t, client.Conflict, codeOf(t, err))
	_, err = c.Kind(t.Context(), "sumary")
	require.ErrorContains(t, err, `did you mean "summary"?`)
	for _, err := range c.StreamItems(t.Context(), "nope") {
		require.Equal(t, client.NotFound, codeOf(t, err))
	}
	_, err = client.New("localhost:8080", "")
	require.Error(t, err)
}

func TestErrors_noAnswer(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + ln.Addr().String()
	require.NoError(t, ln.Close())
	answer := func(status int, text string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	for name, address := range map[string]string{
		"closed": closed, "a proxy": answer(http.StatusBadGateway, ""), "another program": answer(http.StatusOK, "<html>"),
	} {
		c := clientOf(t, address)
		_, err := c.Kinds(t.Context())
		e, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, name)
		require.Equal(t, client.NoAnswer, e.Code, name)
		require.True(t, e.Retryable)
		require.Contains(t, e.Detail, address)
		_, err = c.Watch(t.Context(), "task-1", func(client.Task) {})
		require.Equal(t, client.NoAnswer, codeOf(t, err), "a watch does not repeat its first request")
	}
}

// A request that starts a task has a key of its own, so that net/http may repeat it.
func TestCreate_keys(t *testing.T) {
	t.Parallel()
	c, tasks := newClient(t)
	for _, key := range []string{"mine", "mine", "", ""} {
		_, err := c.Create(t.Context(), small, key)
		require.NoError(t, err)
	}
	drafts := tasks.Drafts()
	require.Len(t, drafts, 3, "the same key is the same task")
	require.Equal(t, "mine", drafts[0].IdempotencyKey)
	require.NotEmpty(t, drafts[1].IdempotencyKey)
	require.NotEqual(t, drafts[1].IdempotencyKey, drafts[2].IdempotencyKey)
}

// The key goes into a header, and requests through the given http.Client.
func TestClient_keyAndHTTP(t *testing.T) {
	t.Parallel()
	parts := servertest.Parts(t, servertest.NewTasks())
	parts.Keys = map[string]string{"secret": "a"}
	srv := servertest.Start(t, parts)
	_, err := clientOf(t, srv.URL).Kinds(t.Context())
	require.Equal(t, client.Unauthorized, codeOf(t, err))
	c, err := client.New(srv.URL+"/", "secret")
	require.NoError(t, err)
	requests := 0
	c.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		requests++
		return http.DefaultTransport.RoundTrip(r)
	})}
	_, err = c.Kinds(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, requests)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestFiles(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	path := filepath.Join(t.TempDir(), "财报 2025.txt")
	require.NoError(t, os.WriteFile(path, []byte("content"), 0o600))
	sent := 0
	file, err := c.UploadFile(t.Context(), path, func(n int) { sent += n })
	require.NoError(t, err)
	require.Equal(t, "财报 2025.txt", file.Name)
	require.Equal(t, int64(7), file.Bytes)
	require.Equal(t, 7, sent)
	_, err = c.UploadFile(t.Context(), t.TempDir(), nil)
	require.ErrorContains(t, err, "is not a file")

	same, err := c.Upload(t.Context(), "other.txt", strings.NewReader("content"), 7)
	require.NoError(t, err)
	require.Equal(t, file.ID, same.ID)
	empty, err := c.Upload(t.Context(), "empty.txt", strings.NewReader(""), 0)
	require.NoError(t, err)
	require.Zero(t, empty.Bytes)
	found, err := c.File(t.Context(), file.ID)
	require.NoError(t, err)
	require.Equal(t, file.SHA256, found.SHA256)
	require.Equal(t, "content", text(t)(c.FileContent(t.Context(), file.ID)))
	require.NoError(t, c.DeleteFile(t.Context(), file.ID))
	_, err = c.File(t.Context(), file.ID)
	require.Equal(t, client.NotFound, codeOf(t, err))
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c, tasks := newClient(t)
	tasks.OnCreate = nil
	created, err := c.Create(t.Context(), small, "")
	require.NoError(t, err)
	tasks.Change(created.ID, func(t *client.Task) {
		t.Status, t.Error = client.Failed, &client.Error{Code: client.ModelAuth}
	})
	letters, err := c.DeadLetters(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, letters, 1)
	page, err := c.ListDeadLetters(t.Context(), client.DeadFilter{Kind: "other"})
	require.NoError(t, err)
	require.Empty(t, page.Data)
	first, err := c.ReplayDeadLetter(t.Context(), created.ID, client.ReplayOrder{Scope: client.ScopeAll})
	require.NoError(t, err)
	second, err := c.ReplayDeadLetter(t.Context(), created.ID, client.ReplayOrder{Scope: client.ScopeAll})
	require.NoError(t, err)
	require.Equal(t, first.ID, second.ID)
}

// What GET /v1/limits answers is what Limits has, name by name.
func TestLimits_complete(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	limits, err := c.Limits(t.Context())
	require.NoError(t, err)
	described := spec(t).Components.Schemas["Limits"].Properties
	delete(described, "$schema")
	require.ElementsMatch(t, fieldNames(limits), keys(described))
	require.Positive(t, limits.MaxPage)
	health, err := c.Ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Health{Status: "ready", Version: "test"}, health)
}
