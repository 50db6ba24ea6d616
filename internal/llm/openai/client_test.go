package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/task"
)

// recorder is a log, and what was written to it.
func recorder() (*slog.Logger, func() string) {
	var mu sync.Mutex
	var buf bytes.Buffer
	write := writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return buf.Write(p)
	})
	return slog.New(slog.NewJSONHandler(write, nil)), func() string {
		mu.Lock()
		defer mu.Unlock()
		return buf.String()
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestRequest(t *testing.T) {
	t.Parallel()
	zero, half := 0.0, 0.5
	tests := map[string]struct {
		profile string
		req     llm.Request
		want    string
	}{
		"plain":               {"", llm.Request{Model: "m"}, `{"model":"m"}`},
		"temperature 0":       {"", llm.Request{Model: "m", Temperature: &zero}, `{"model":"m","temperature":0}`},
		"temperature":         {"", llm.Request{Model: "m", Temperature: &half}, `{"model":"m","temperature":0.5}`},
		"limit":               {"", llm.Request{Model: "m", MaxTokens: 9}, `{"model":"m","max_tokens":9}`},
		"limit of a thinker":  {"", llm.Request{Model: "relay/GPT-5-mini", MaxTokens: 9, Temperature: &half}, `{"model":"relay/GPT-5-mini","max_completion_tokens":9,"temperature":0.5}`},
		"limit at OpenAI":     {"openai", llm.Request{Model: "gpt-4.1", MaxTokens: 9}, `{"model":"gpt-4.1","max_completion_tokens":9}`},
		"thinker at OpenAI":   {"openai", llm.Request{Model: "o3", MaxTokens: 9, Temperature: &zero}, `{"model":"o3","max_completion_tokens":9,"temperature":0}`},
		"newest at OpenAI":    {"openai", llm.Request{Model: "gpt-6-sol", MaxTokens: 9, Temperature: &half}, `{"model":"gpt-6-sol","max_completion_tokens":9,"temperature":0.5}`},
		"a model of long ago": {"", llm.Request{Model: "gpt-3.5-turbo", MaxTokens: 9}, `{"model":"gpt-3.5-turbo","max_tokens":9}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			bodies := make(chan []byte, 2)
			p.Handle(func(call llmtest.Call) llmtest.Reply {
				bodies <- call.Body
				return llmtest.Reply{}
			})
			test.req.Messages = []llm.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}}
			got, err := client(t, p, func(c *openai.Config) { c.Profile = test.profile }).Complete(t.Context(), test.req, nil)
			require.NoError(t, err)
			require.Contains(t, got.Text, llmtest.Hash("s\n\nu"))
			require.False(t, got.Simulated)

			var sent, want map[string]any
			require.NoError(t, json.Unmarshal(<-bodies, &sent))
			require.NoError(t, json.Unmarshal([]byte(test.want), &want))
			want["stream"], want["stream_options"] = true, map[string]any{"include_usage": true}
			want["messages"] = []any{map[string]any{"role": "system", "content": "s"}, map[string]any{"role": "user", "content": "u"}}
			require.Equal(t, want, sent)
			require.Equal(t, "Bearer "+key, p.Calls()[0].Header.Get("Authorization"))
		})
	}
}

// TestLimits are read only where it is known what time they are for.
func TestLimits(t *testing.T) {
	t.Parallel()
	told := llm.Limits{Requests: 600, Tokens: 150_000}
	for name, test := range map[string]struct {
		profile, tokens string
		want            llm.Limits
	}{
		"a minute":  {"openai", "150000", told},
		"not known": {"azure", "-1", llm.Limits{Requests: 600}},
		"any time":  {"generic", "150000", llm.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			with := func(r llmtest.Reply) llmtest.Reply {
				return r.With("X-Ratelimit-Limit-Requests", "600").With("X-Ratelimit-Limit-Tokens", test.tokens)
			}
			p.On("", with(llmtest.Answer("x", llmtest.Usage{})), with(llmtest.RateLimit(1)))
			made := client(t, p, func(c *openai.Config) { c.Profile = test.profile })
			got, err := made.Complete(t.Context(), ask("x"), nil)
			require.NoError(t, err)
			require.Equal(t, test.want, got.Limits)
			_, err = made.Complete(t.Context(), ask("x"), nil)
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, test.want, e.Limits)
		})
	}
}

// TestUsageOfARelay is marked: it is an estimate.
func TestUsageOfARelay(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]bool{"generic": false, "newapi": true, "litellm": true} {
		p := llmtest.New(t)
		made := client(t, p, func(c *openai.Config) { c.Profile = profile })
		got, err := made.Complete(t.Context(), ask("x"), nil)
		require.NoError(t, err)
		require.Equal(t, want, got.Usage.Estimated, profile)
		vectors, err := made.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: texts})
		require.NoError(t, err)
		require.Equal(t, want, vectors.Usage.Estimated, profile)
	}
}

// TestCutPrompt is told when the provider does not tell it.
func TestCutPrompt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		profile string
		tokens  int
		warns   bool
	}{
		"cut":                {"ollama", 512, true},
		"whole":              {"ollama", 4000, false},
		"a relay's guess":    {"newapi", 512, false},
		"nobody has counted": {"ollama", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", llmtest.Answer("x", llmtest.Usage{Input: test.tokens}))
			log, seen := recorder()
			_, err := client(t, p, func(c *openai.Config) { c.Profile, c.Log = test.profile, log }).Complete(t.Context(), ask(strings.Repeat("word ", 3000)), nil)
			require.NoError(t, err)
			require.Equal(t, test.warns, strings.Contains(seen(), "cut the prompt"))
		})
	}
}

// TestConnections are used again, also when the provider leaves the end of the body for later.
func TestConnections(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	made := client(t, p)
	for range 5 {
		_, err := made.Complete(t.Context(), ask("x"), nil)
		require.NoError(t, err)
	}
	require.Equal(t, 1, p.Connections())
	require.Equal(t, llmtest.Counts{Total: 5, Answered: 5, MaxInFlight: 1}, p.Counts())
}

// TestLocalRefusal is go-openai's own, for models of the age before chat.
func TestLocalRefusal(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	_, err := client(t, p).Complete(t.Context(), llm.Request{Model: "text-davinci-003"}, nil)
	e, ok := err.(*llm.Error) //nolint:errorlint // it must come unwrapped
	require.True(t, ok)
	require.Equal(t, llm.Final, e.Class)
	require.Equal(t, task.ModelRefused, e.Code)
	require.Empty(t, p.Calls())
}

// TestHTTP2 is what providers speak: the end of one stream is not that of its connection.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "data: "+hello+"\n\n")
		_ = http.NewResponseController(w).Flush()
		switch {
		case r.ProtoMajor != 2:
		case bytes.Contains(body, []byte("cut")):
			panic(http.ErrAbortHandler)
		case bytes.Contains(body, []byte("hang")):
			<-r.Context().Done()
			close(gone)
		default:
			_, _ = io.WriteString(w, "data: "+stop+"\n\n")
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	made, err := openai.New(openai.Config{BaseURL: server.URL, HTTP: server.Client().Transport.(*http.Transport)})
	require.NoError(t, err)

	got, err := made.Complete(t.Context(), ask("good"), nil)
	require.NoError(t, err)
	require.Equal(t, "Hello", got.Text)

	_, err = made.Complete(t.Context(), ask("cut"), nil)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, task.AnswerIncomplete, e.Code)

	ctx, cancel := context.WithCancel(t.Context())
	_, err = made.Complete(ctx, ask("hang"), func(llm.Progress) { cancel() })
	require.Equal(t, context.Canceled, err)
	<-gone
}

func TestModels(t *testing.T) {
	t.Parallel()
	names, err := client(t, llmtest.New(t)).Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"llmtest-1"}, names)
}

func TestModelsOfWhatIsNoProvider(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		body   string
		class  llm.Class
		code   task.Code
	}{
		"key refused": {401, `{"error":{"message":"no","code":"invalid_api_key"}}`, llm.Final, task.ModelAuth},
		"page":        {200, "<html><body>Sign in</body></html>", llm.Retry, task.BadResponse},
		"other JSON":  {200, `{"data":7}`, llm.Retry, task.BadResponse},
		"error":       {200, `{"error":{"message":"no","code":429}}`, llm.Wait, task.RateLimited},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			t.Cleanup(server.Close)
			made, err := openai.New(openai.Config{BaseURL: server.URL})
			require.NoError(t, err)
			_, err = made.Models(t.Context())
			e, ok := err.(*llm.Error) //nolint:errorlint // it must come unwrapped
			require.True(t, ok)
			require.Equal(t, test.class, e.Class)
			require.Equal(t, test.code, e.Code)
		})
	}
}

func TestProfileOfAHost(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com/v1":                         "openai",
		"https://eu.api.openai.com/v1":                      "openai",
		"https://acme.openai.azure.com/openai/v1":           "azure",
		"https://api.deepseek.com":                          "deepseek",
		"https://api.moonshot.cn/v1":                        "kimi",
		"https://open.bigmodel.cn/api/paas/v4":              "glm",
		"https://dashscope.aliyuncs.com/compatible-mode/v1": "dashscope",
		"https://ark.cn-beijing.volces.com/api/v3":          "ark",
		"https://ark.ap-southeast.bytepluses.com/api/v3":    "ark",
		"https://openrouter.ai/api/v1":                      "openrouter",
		"http://127.0.0.1:11434/v1":                         "generic",
		"https://notopenrouter.ai/v1":                       "generic",
		"https://api.openai.com.example.com/v1":             "generic",
	} {
		made, err := openai.New(openai.Config{BaseURL: base})
		require.NoError(t, err)
		require.Equal(t, want, made.Profile(), base)
	}
	made, err := openai.New(openai.Config{BaseURL: "https://api.deepseek.com", Profile: "newapi"})
	require.NoError(t, err)
	require.Equal(t, "newapi", made.Profile(), "what is named counts")
}

func TestNew(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config openai.Config
		want   string
	}{
		"profile":  {openai.Config{BaseURL: "http://x/v1", Profile: "acme"}, "deepseek generic glm"},
		"no URL":   {openai.Config{}, "whole http or https address"},
		"half URL": {openai.Config{BaseURL: "api.openai.com/v1"}, "whole http or https address"},
		"user":     {openai.Config{BaseURL: "http://u:secret@x/v1"}, "without a user"},
		"scheme":   {openai.Config{BaseURL: "ftp://x/v1"}, "whole http or https address"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openai.New(test.config)
			require.ErrorContains(t, err, test.want)
		})
	}
}
