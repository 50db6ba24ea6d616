package wire_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
	"longhaul/internal/video/videotest"
	"longhaul/internal/video/wire"
)

// download is what is at the address of a video, and what fetching it comes to.
type download struct {
	dialect string // "" is ark
	reply   videotest.Reply
	noURL   bool   // the provider does not say where the video is
	url     string // instead of the right one
	change  func(*wire.Config)
	err     *unfetched // nil is the video
}

type unfetched struct {
	class llm.Class
	code  task.Code
	moved bool // a fresh address may help
	says  string
}

func gone(says string) *unfetched {
	return &unfetched{class: llm.Retry, code: task.BadResponse, moved: true, says: says}
}

func downloads() map[string]download {
	return map[string]download{
		"Ark: the video":                         {},
		"videos: at /content":                    {dialect: "videos", noURL: true},
		"completed, and never an address":        {noURL: true, err: gone("not where")},
		"videos: an address for the relay alone": {dialect: "videos", url: "http://localhost:1/v1/videos/job-1/content"},
		"an address inside":                      {url: "http://localhost:1/v", err: &unfetched{class: llm.Final, code: task.FetchBlocked, says: "not public"}},
		"an address of the machine":              {url: "http://169.254.169.254/latest", err: &unfetched{class: llm.Final, code: task.FetchBlocked, says: "not public"}},
		"sent on to an address inside":           {reply: videotest.Fail(302, "").With("Location", "http://localhost:1/v"), err: &unfetched{class: llm.Final, code: task.FetchBlocked, says: "not public"}},
		"sent on to another scheme":              {reply: videotest.Fail(302, "").With("Location", "file:///etc/passwd"), err: &unfetched{class: llm.Retry, code: task.ModelRefused, says: "Found"}},
		"403, out of date":                       {reply: videotest.Fail(403, "<Error><Code>AccessDenied</Code></Error>"), err: gone("403")},
		"404":                                    {reply: videotest.Fail(404, ""), err: gone("404")},
		"410":                                    {reply: videotest.Fail(410, ""), err: gone("410")},
		"500":                                    {reply: videotest.Fail(500, ""), err: &unfetched{class: llm.Retry, code: task.ModelUnavailable, says: "Internal"}},
		"429":                                    {reply: videotest.Fail(429, ""), err: &unfetched{class: llm.Wait, code: task.RateLimited, says: "Too Many"}},
		"an error behind a 200":                  {reply: says(`{"error":{"code":"not_ready","message":"come back"}}`), err: &unfetched{class: llm.Retry, code: task.BadResponse, says: "come back"}},
		"a page":                                 {reply: says("<html>welcome</html>"), err: gone("not one")},
		"nothing":                                {reply: says(""), err: gone("empty")},
		"words":                                  {reply: videotest.Reply{Status: 200, Type: "text/plain", Body: "soon"}, err: gone("not one")},
		"a half":                                 {reply: videotest.Reply{HalfWay: true}, err: &unfetched{class: llm.Retry, code: task.ModelUnavailable, says: "cannot be fetched"}},
		"silence": {
			reply: videotest.Reply{Delay: videotest.Forever}, change: func(c *wire.Config) { c.IdleTimeout = 50 * time.Millisecond },
			err: &unfetched{class: llm.Retry, code: task.ModelUnavailable, says: "cannot be fetched"},
		},
		"too large": {
			change: func(c *wire.Config) { c.MaxBytes = 1000 },
			err:    &unfetched{class: llm.Final, code: task.BadResponse, says: "limit"},
		},
		"too large, and does not say so": {
			reply:  videotest.Reply{Status: 200, Type: "video/mp4", Body: string(videotest.Film("x")), Header: map[string]string{"Transfer-Encoding": "chunked"}},
			change: func(c *wire.Config) { c.MaxBytes = 1000 },
			err:    &unfetched{class: llm.Final, code: task.BadResponse, says: "limit"},
		},
	}
}

// fetch follows a job to its end and downloads its video.
func fetch(t *testing.T, c *wire.Client, prompt string) (video.Content, []byte, error) {
	t.Helper()
	job, err := c.Start(t.Context(), ask(prompt))
	require.NoError(t, err)
	job, err = c.Status(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, video.Succeeded, job.State)
	var got bytes.Buffer
	content, err := c.Content(t.Context(), job, &got)
	return content, got.Bytes(), err
}

func TestContent(t *testing.T) {
	t.Parallel()
	for name, test := range downloads() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := videotest.New(t, videotest.Options{})
			step := videotest.Succeeded()
			step.NoURL, step.URL = test.noURL, test.url
			p.On("x", videotest.Script{Polls: []videotest.Step{step}, Content: []videotest.Reply{test.reply}})
			var change []func(*wire.Config)
			if test.change != nil {
				change = append(change, test.change)
			}
			c := client(t, p, cmp.Or(test.dialect, "ark"), change...)
			content, got, err := fetch(t, c, "x")
			if test.err != nil {
				e := fail(t, err)
				require.Equal(t, test.err.class, e.Class, e)
				require.Equal(t, test.err.code, e.Code, e)
				require.Equal(t, test.err.moved, errors.Is(err, video.ErrMoved), e)
				require.Contains(t, e.Message, test.err.says)
				require.NotContains(t, e.Error(), "SIGNED")
				if !test.reply.HalfWay && test.reply.Header["Transfer-Encoding"] == "" { // it is known before anything is written
					require.Empty(t, got)
				}
				return
			}
			require.NoError(t, err)
			sum := sha256.Sum256(got)
			require.Equal(t, videotest.Film("x"), got)
			require.Equal(t, video.Content{Bytes: int64(len(got)), SHA256: hex.EncodeToString(sum[:]), ContentType: "video/mp4"}, content)
		})
	}
}

// TestContent_key: the provider's own origin gets the key, and nobody else.
func TestContent_key(t *testing.T) {
	t.Parallel()
	p, cdn := videotest.New(t, videotest.Options{}), videotest.New(t, videotest.Options{})
	_, err := client(t, cdn, "ark").Start(t.Context(), ask("at the cdn"))
	require.NoError(t, err)
	step := videotest.Succeeded()
	step.URL = "http://" + cdn.Host() + "/files/job-1"
	p.On("direct", videotest.Script{Polls: []videotest.Step{step}})
	p.On("sent on", videotest.Script{
		Polls: []videotest.Step{{State: "succeeded", NoURL: true}}, Content: []videotest.Reply{videotest.Fail(302, "").With("Location", step.URL)},
	})
	allow := func(c *wire.Config) { c.AllowPrivate = []string{cdn.Host()} }
	for _, prompt := range []string{"direct", "sent on"} {
		_, got, err := fetch(t, client(t, p, "videos", allow), prompt)
		require.NoError(t, err)
		require.Equal(t, videotest.Film("at the cdn"), got)
	}
	require.Equal(t, 2, cdn.Counts().Downloads)
	for _, call := range cdn.Calls()[1:] {
		require.Empty(t, call.Header.Get("Authorization"))
		require.Empty(t, call.Header.Get("Referer"))
	}
	calls := p.Calls()
	require.Equal(t, "content", calls[len(calls)-1].Kind)
	require.Equal(t, "Bearer "+key, calls[len(calls)-1].Header.Get("Authorization"))
}

// TestContent_sentOn within the provider's own origin.
func TestContent_sentOn(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("x", videotest.Script{Polls: []videotest.Step{videotest.Succeeded()}, Content: []videotest.Reply{videotest.Fail(302, "").With("Location", "/files/job-1")}})
	c := client(t, p, "ark")
	_, err := c.Start(t.Context(), ask("the first"))
	require.NoError(t, err)
	_, got, err := fetch(t, c, "x")
	require.NoError(t, err)
	require.Equal(t, videotest.Film("the first"), got)
	require.Equal(t, 2, p.Counts().Downloads)
}

type full struct{}

var errFull = errors.New("the disk is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestContent_writer(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("", videotest.Script{Polls: []videotest.Step{videotest.Succeeded()}})
	c := client(t, p, "ark")
	job, err := c.Start(t.Context(), ask("x"))
	require.NoError(t, err)
	job, err = c.Status(t.Context(), job.ID)
	require.NoError(t, err)
	_, err = c.Content(t.Context(), job, full{})
	require.ErrorIs(t, err, errFull)
	_, ours := errors.AsType[*llm.Error](err)
	require.False(t, ours, "it is not the provider's fault")
}

func TestContent_cancelled(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("", videotest.Script{Polls: []videotest.Step{videotest.Succeeded()}, Content: []videotest.Reply{{Delay: videotest.Forever}}})
	c := client(t, p, "ark")
	job, err := c.Start(t.Context(), ask("x"))
	require.NoError(t, err)
	job, err = c.Status(t.Context(), job.ID)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := c.Content(ctx, job, &bytes.Buffer{})
		failed <- err
	}()
	require.NoError(t, p.Wait(t.Context(), func(c videotest.Counts) bool { return c.Downloads == 1 }))
	cancel()
	require.Equal(t, context.Canceled, <-failed)
}
