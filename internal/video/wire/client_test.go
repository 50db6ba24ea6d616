package wire_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/fakeserver"
	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
	"longhaul/internal/video/videotest"
	"longhaul/internal/video/wire"
)

const key = "test-MARKER-5up3rs3cret"

// client speaks a dialect to a scripted provider.
func client(t *testing.T, p *videotest.Provider, dialect string, change ...func(*wire.Config)) *wire.Client {
	t.Helper()
	config := wire.Config{Name: "acme", BaseURL: p.URL(dialect), Key: key, Dialect: dialect}
	for _, c := range change {
		c(&config)
	}
	made, err := wire.New(config)
	require.NoError(t, err)
	return made
}

func ask(prompt string) video.Request {
	return video.Request{Model: "m", Prompt: prompt, Seconds: 5, Fence: "fence-" + prompt}
}

// fail takes an error apart.
func fail(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "acme", e.Provider)
	require.NotEmpty(t, e.Message)
	return e
}

func TestStart(t *testing.T) {
	t.Parallel()
	for name, test := range starts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := videotest.New(t, videotest.Options{})
			p.On("", videotest.Script{Start: []videotest.Reply{test.reply}})
			dialect := cmp.Or(test.dialect, "ark")
			c := client(t, p, dialect, func(c *wire.Config) {
				if test.reply.Delay > 0 {
					c.Timeout = 500 * time.Millisecond // time to connect in
				}
			})
			job, err := c.Start(t.Context(), ask("x"))
			require.Equal(t, 1, p.Counts().Starts, "a start is one request")
			if test.err == nil {
				require.NoError(t, err)
				require.Equal(t, "j", job.ID)
				require.Equal(t, video.Queued, job.State)
				require.True(t, job.Known)
				return
			}
			e := fail(t, err)
			require.Equal(t, test.err.class, e.Class, e)
			require.Equal(t, test.err.code, e.Code, e)
			require.Equal(t, test.err.ambiguous, video.Ambiguous(err), e)
		})
	}
}

func TestStart_unreachable(t *testing.T) {
	t.Parallel()
	address := fakeserver.Refusing(t)
	c, err := wire.New(wire.Config{Name: "acme", BaseURL: "http://" + address + "/v1", Key: key})
	require.NoError(t, err)
	_, err = c.Start(t.Context(), ask("x"))
	e := fail(t, err)
	require.Equal(t, llm.Retry, e.Class)
	require.Equal(t, task.ModelUnavailable, e.Code)
	require.Zero(t, e.Status)
	require.Contains(t, e.Message, "refused")
	require.NotContains(t, e.Message, address)
	require.False(t, video.Ambiguous(err))
}

// TestStart_lostOnAUsedConnection: there, net/http sends some requests again by itself. A start is none of them.
func TestStart_lostOnAUsedConnection(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("lost", videotest.Script{Start: []videotest.Reply{{Lost: true}}})
	c := client(t, p, "ark")
	_, err := c.Start(t.Context(), ask("good"))
	require.NoError(t, err)
	_, err = c.Start(t.Context(), ask("lost"))
	require.True(t, video.Ambiguous(err))
	require.Len(t, p.Starts("lost"), 1)
	require.Len(t, p.Jobs("fence-lost"), 1)
}

// TestStart_noTLS: a provider that does not get as far as to a request has made no job.
func TestStart_noTLS(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	c := client(t, p, "ark", func(c *wire.Config) { c.BaseURL = "https://" + p.Host() + "/api/v3" })
	_, err := c.Start(t.Context(), ask("x"))
	require.Equal(t, task.ModelUnavailable, fail(t, err).Code)
	require.False(t, video.Ambiguous(err))
}

func TestStart_cancelled(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("", videotest.Script{Start: []videotest.Reply{{Delay: videotest.Forever}}})
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, p, "ark")
	failed := make(chan error, 1)
	go func() {
		_, err := c.Start(ctx, ask("x"))
		failed <- err
	}()
	require.NoError(t, p.Wait(t.Context(), func(c videotest.Counts) bool { return c.Starts == 1 }))
	cancel()
	err := <-failed
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, video.Ambiguous(err))

	_, err = c.Start(ctx, ask("x"))
	require.Equal(t, context.Canceled, err, "nothing was sent")
	require.False(t, video.Ambiguous(err))
	require.Equal(t, 1, p.Counts().Starts)
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, test := range polls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := videotest.New(t, videotest.Options{})
			p.On("", videotest.Script{Polls: []videotest.Step{{Reply: test.reply}}})
			dialect := cmp.Or(test.dialect, "videos")
			c := client(t, p, dialect)
			_, err := c.Start(t.Context(), ask("x"))
			require.NoError(t, err)
			job, err := c.Status(t.Context(), "job-1")
			if !test.reply.Lost { // net/http asks again by itself when a connection that was used before is lost
				require.Equal(t, 1, p.Counts().Polls, "a question is one request")
			}
			if test.err != nil {
				e := fail(t, err)
				require.Equal(t, *test.err, refused{e.Class, e.Code, errors.Is(err, video.ErrNoJob)}, e)
				require.Zero(t, e.Tries)
				return
			}
			require.NoError(t, err)
			require.NotEmpty(t, job.ID)
			require.Equal(t, test.want, standing(t, job, "http://"+p.Host(), test.want.says))
		})
	}
}

// standing is how a job stands, in the words of the tables.
func standing(t *testing.T, job video.Job, own, says string) stand {
	t.Helper()
	s := stand{state: job.State, strange: !job.Known, progress: -1, url: strings.Replace(job.URL, own, "OWN", 1), says: says}
	if job.Progress != nil {
		s.progress = *job.Progress
	}
	if job.State == video.Failed {
		s.class, s.code = job.Error.Class, job.Error.Code
		require.Contains(t, job.Error.Message, says)
		require.NoError(t, job.Error.Err)
	}
	return s
}

// TestJob reads what else there is.
func TestJob(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	p.On("", videotest.Script{Polls: []videotest.Step{{Reply: says(`{"id":"cgt-1","model":"doubao-seedance-1","status":"succeeded","created_at":1790000000,
		"content":{"video_url":"`+cdn+`"},"usage":{"completion_tokens":108900,"total_tokens":108900},"seed":58944,"duration":5,"revised_prompt":"a calm sea"}`).
		With("X-Longhaul-Simulated", "true")}}})
	c := client(t, p, "ark")
	_, err := c.Start(t.Context(), ask("x"))
	require.NoError(t, err)
	job, err := c.Status(t.Context(), "job-1")
	require.NoError(t, err)
	seed := int64(58944)
	require.Equal(t, video.Job{
		ID: "cgt-1", State: video.Succeeded, Word: "succeeded", Known: true, URL: cdn, Usage: llm.Usage{Known: true, OutputTokens: 108900},
		Prompt: "a calm sea", Model: "doubao-seedance-1", Seed: &seed, Seconds: 5, Created: time.Unix(1790000000, 0).UTC(), Simulated: true,
	}, job)
}

// TestSecrets looks for the key in whatever an error shows.
func TestSecrets(t *testing.T) {
	t.Parallel()
	p := videotest.New(t, videotest.Options{})
	echo := `{"error":{"code":"` + key + `","message":"you sent Authorization: Bearer ` + key + `"},"status":"failed","id":"j"}`
	p.On("refused", videotest.Script{Start: []videotest.Reply{videotest.Fail(401, echo)}})
	p.On("failed", videotest.Script{Polls: []videotest.Step{{Reply: says(echo)}, {Reply: videotest.Fail(500, "<p>"+key)}}})
	c := client(t, p, "ark")
	_, first := c.Start(t.Context(), ask("refused"))
	_, err := c.Start(t.Context(), ask("failed"))
	require.NoError(t, err)
	job, err := c.Status(t.Context(), "job-1")
	require.NoError(t, err)
	_, second := c.Status(t.Context(), "job-1")
	for _, err := range []error{first, job.Error, second} {
		require.Error(t, err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			require.NotContains(t, fmt.Sprintf("%v %+v %#v", e, e, e), "MARKER")
		}
	}
	require.Equal(t, "Bearer "+key, p.Calls()[0].Header.Get("Authorization"))
}

func TestConfigShowsNoKey(t *testing.T) {
	t.Parallel()
	config := wire.Config{Name: "acme", BaseURL: "http://127.0.0.1:1/v1", Key: key}
	made, err := wire.New(config)
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "config", config, "client", made)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %v %+v %#v", config, config, config, made, made, made)+log.String(), "MARKER")
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config wire.Config
		says   string
	}{
		"no address":       {wire.Config{}, "base URL"},
		"a user in it":     {wire.Config{BaseURL: "https://me:secret@example.com/v1"}, "without a user"},
		"another scheme":   {wire.Config{BaseURL: "ftp://example.com"}, "http or https"},
		"unknown dialect":  {wire.Config{BaseURL: "https://example.com", Dialect: "sora"}, "[ark newapi openrouter videos xai]"},
		"unknown profile":  {wire.Config{BaseURL: "https://example.com", Profile: "sora"}, "profile"},
		"Ark by its host":  {wire.Config{BaseURL: "https://ark.cn-beijing.volces.com/api/v3"}, ""},
		"a relay, if none": {wire.Config{BaseURL: "https://relay.example.com/v1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.New(test.config)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}
