package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/task"
)

// A key that must never be seen anywhere.
const key = "sk-longhaul-MARKER-0123456789abcdef"

// limits lets the silence of a provider that is slow be noticed within a test; the others have the time that a busy
// machine needs. The cases that are slow but right stay well inside each limit, and go beyond it in sum.
func limits(reply llmtest.Reply) func(*openai.Config) {
	return func(c *openai.Config) {
		if reply.Gap > 0 || reply.End == llmtest.Silence || reply.End == llmtest.Ping {
			c.IdleTimeout, c.ProgressTimeout = 2*time.Second, 3*time.Second
		}
	}
}

func client(t *testing.T, p *llmtest.Provider, change ...func(*openai.Config)) *openai.Client {
	t.Helper()
	config := openai.Config{Name: "acme", BaseURL: p.URL(), Key: key, HTTP: &http.Transport{}}
	for _, c := range change {
		c(&config)
	}
	t.Cleanup(config.HTTP.CloseIdleConnections)
	made, err := openai.New(config)
	require.NoError(t, err)
	return made
}

func ask(prompt string) llm.Request {
	return llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: prompt}}}
}

// answered and refused are what a case can come to.
type answered struct {
	text, reason string
	usage        llm.Usage
}

type refused struct {
	class   llm.Class
	code    task.Code
	message string // is in the error's
	own     string // the provider's own code
	status  int    // 0 means 200
	after   time.Duration
	tries   int
	partial llm.Usage
}

func sse(lines ...string) llmtest.Reply { return llmtest.Raw("text/event-stream", lines...) }

func whole(body string) llmtest.Reply { return llmtest.Raw("application/json", body) }

func stream(events ...string) llmtest.Reply { return llmtest.Stream(events...) }

var (
	hello  = llmtest.Delta("Hello", "")
	stop   = llmtest.Delta("", "stop")
	used   = llmtest.UsageEvent(llmtest.Usage{Input: 7, Output: 3, Cached: 2})
	counts = llm.Usage{Known: true, InputTokens: 7, OutputTokens: 3, CachedTokens: 2}
)

// TestRobustness sends the bytes of providers over a socket; every case is one request, whatever comes
// back.
func TestRobustness(t *testing.T) {
	t.Parallel()
	for group, cases := range map[string]map[string]robust{"wire": robustness(), "provider": manners()} {
		for name, test := range cases {
			t.Run(group+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkRobust(t, test, ask(name))
			})
		}
	}
}

func checkRobust(t *testing.T, test robust, req llm.Request) llm.Response {
	t.Helper()
	p := llmtest.New(t)
	p.On("", test.reply.With("X-Request-Id", "req-1"))
	got, err := client(t, p, limits(test.reply), func(c *openai.Config) { c.Profile = test.profile }).Complete(t.Context(), req, nil)
	if test.ok != nil {
		require.NoError(t, err)
		require.Equal(t, *test.ok, answered{got.Text, got.FinishReason, got.Usage})
		require.Equal(t, "req-1", got.RequestID)
	} else {
		checkRefused(t, *test.err, err)
	}
	require.Len(t, p.Calls(), 1)
	return got
}

func checkRefused(t *testing.T, want refused, err error) {
	t.Helper()
	e, ok := err.(*llm.Error) //nolint:errorlint // it must come unwrapped
	require.True(t, ok, "%T: %v", err, err)
	if want.status == 0 {
		want.status = 200
	}
	require.Contains(t, e.Message, want.message)
	want.message = e.Message
	require.Equal(t, want, refused{e.Class, e.Code, e.Message, e.ProviderCode, e.Status, e.RetryAfter, e.Tries, e.Partial})
	require.Equal(t, "acme", e.Provider)
	require.Equal(t, "req-1", e.RequestID)
	require.NotContains(t, e.Message, "<")
	require.LessOrEqual(t, len([]rune(e.Message)), 500)
}

func TestSplitCharacters(t *testing.T) {
	t.Parallel()
	const text = "서울의 봄, 東京の雨, 🚀, ü, 👩‍👩‍👧, \\ud83d \"q\""
	half := func(s string) string { return fmt.Sprintf(`{"choices":[{"delta":{"content":"%s"}}]}`, s) }
	tests := map[string]struct {
		reply llmtest.Reply
		want  string
	}{
		"byte by byte":             {llmtest.Answer(text, llmtest.Usage{}).ByteByByte(), text},
		"bytes of one over chunks": {stream(half("a\xf0\x9f"), half("\x9a\x80b"), stop), "a🚀b"},
		"a surrogate pair":         {stream(half(`a\ud83d`), half(`\ude80b`), stop), "a🚀b"},
		"escapes of one character": {stream(half(`\u00fc\u6771`), half(`\\ud83d`), stop), `ü東\ud83d`},
		"one that never ends":      {stream(half(`a\ud83d`), half("b\xf0\x9f"), stop), "a\ufffdb\ufffd\ufffd"},
		"bytes that are no text":   {stream(half("a\xffb"), stop), "a\ufffdb"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", test.reply)
			var last llm.Progress
			got, err := client(t, p).Complete(t.Context(), ask("x"), func(now llm.Progress) {
				require.GreaterOrEqual(t, now.Bytes, last.Bytes)
				require.True(t, strings.HasPrefix(test.want, now.Text) || strings.HasSuffix(now.Text, "\ufffd"))
				last = now
			})
			require.NoError(t, err)
			require.Equal(t, test.want, got.Text)
		})
	}
}

// TestSecrets looks for keys in whatever an error shows.
func TestSecrets(t *testing.T) {
	t.Parallel()
	echo := func(s string) string {
		return strconv.Quote("you sent Authorization: Bearer " + s + " and sk-other-KEY1234567 to us")
	}
	tests := map[string]llmtest.Reply{
		"message":     llmtest.Fail(401, `{"error":{"message":`+echo(key)+`,"code":"`+key+`"}}`),
		"page":        llmtest.Fail(500, "<html><body>"+key+"</body></html>"),
		"plain":       llmtest.Raw("text/plain", "oops "+key),
		"mid-stream":  stream(hello, `{"error":`+echo(key)+`}`),
		"event":       stream(hello, key),
		"request id":  llmtest.Fail(500, "").With("X-Request-Id", key),
		"redirect":    llmtest.Fail(307, "").With("Location", "https://"+key+".example.com/"),
		"reason":      stream(hello, llmtest.Delta("", key)),
		"refusal":     stream(`{"choices":[{"delta":{"refusal":"no `+key+`"}}]}`, stop),
		"at the edge": llmtest.Fail(500, `{"error":{"message":"`+strings.Repeat("é", 490)+key+`"}}`),
	}
	for name, reply := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", reply)
			log, seen := recorder()
			_, err := client(t, p, func(c *openai.Config) { c.Log = log }).Complete(t.Context(), ask("x"), nil)
			for e := err; e != nil; e = errors.Unwrap(e) {
				shown := fmt.Sprintf("%v %+v %#v", e, e, e)
				require.NotContains(t, shown, "MARKER")
				require.NotContains(t, shown, "KEY1234567")
			}
			require.NotContains(t, seen(), "MARKER")
		})
	}
}

func TestConfigShowsNoKey(t *testing.T) {
	t.Parallel()
	config := openai.Config{Name: "acme", BaseURL: "http://127.0.0.1:1/v1", Key: key}
	made, err := openai.New(config)
	require.NoError(t, err)
	log, seen := recorder()
	log.Info("made", "config", config, "client", made)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %v %+v %#v", config, config, config, made, made, made)+seen(), "MARKER")
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	made, err := openai.New(openai.Config{Name: "acme", BaseURL: "http://127.0.0.1:1/v1", Key: key})
	require.NoError(t, err)
	_, err = made.Complete(t.Context(), ask("x"), nil)
	e, ok := err.(*llm.Error) //nolint:errorlint // it must come unwrapped
	require.True(t, ok)
	require.Equal(t, llm.Retry, e.Class)
	require.Equal(t, task.ModelUnavailable, e.Code)
	require.Zero(t, e.Status)
	require.Contains(t, e.Message, "refused")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	tests := map[string]llmtest.Reply{
		"before the answer": llmtest.Reply{}.After(llmtest.Forever),
		"in the middle":     stream(hello).Then(llmtest.Silence),
		"while it pings":    stream(hello).Then(llmtest.Ping),
	}
	for name, reply := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", reply)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := client(t, p).Complete(ctx, ask("x"), nil)
				failed <- err
			}()
			require.NoError(t, p.WaitFor(t.Context(), 1))
			cancel()
			require.NoError(t, p.WaitGone(t.Context(), 1))
			require.Equal(t, context.Canceled, <-failed)
		})
	}
}

func TestDeadlineIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	p.On("", llmtest.Reply{}.After(llmtest.Forever))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := client(t, p).Complete(ctx, ask("x"), nil)
	require.Equal(t, context.DeadlineExceeded, err)
	require.NoError(t, p.WaitGone(t.Context(), 1))
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(*openai.Config)
		reply   llmtest.Reply
		code    task.Code
		message string
	}{
		"first byte": {
			func(c *openai.Config) { c.FirstByteTimeout = 50 * time.Millisecond }, llmtest.Reply{}.After(llmtest.Forever),
			task.ModelUnavailable, "sent nothing for 50ms",
		},
		"first byte after the headers": {
			func(c *openai.Config) { c.FirstByteTimeout = 50 * time.Millisecond }, llmtest.Reply{}.Then(llmtest.Silence),
			task.ModelUnavailable, "sent nothing for 50ms",
		},
		"total": {
			func(c *openai.Config) { c.TotalTimeout = 100 * time.Millisecond }, stream(hello).Then(llmtest.Ping),
			task.AnswerIncomplete, "not complete after 100ms",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", test.reply)
			_, err := client(t, p, test.change).Complete(t.Context(), ask("x"), nil)
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, llm.Retry, e.Class)
			require.Equal(t, test.code, e.Code)
			require.Contains(t, e.Message, test.message)
			require.NoError(t, p.WaitGone(t.Context(), 1))
		})
	}
}
