package openai_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/task"
)

var (
	texts = []string{"alpha", "béta", "γ"}
	one   = llmtest.Vector(texts[0], 4)
	two   = llmtest.Vector(texts[1], 4)
	three = llmtest.Vector(texts[2], 4)
	good  = [][]float32{one, two, three}
)

// robustEmbeds is what a provider sends for three texts; without an err it must come to their vectors.
type robustEmbeds struct {
	profile    string
	dimensions int
	reply      llmtest.Reply
	err        *refused
	batch      bool // the error is one of a batch that may be halved
}

func embeddings(items ...string) llmtest.Reply { return llmtest.Embeddings(7, items...) }

func item(i int, v []float32) string { return llmtest.Item(i, llmtest.Floats(v)) }

var usedByEmbeds = llm.Usage{Known: true, InputTokens: 7}

// badEmbeds is an answer that must not be taken.
func badEmbeds(message string, items ...string) robustEmbeds {
	return robustEmbeds{reply: embeddings(items...), err: &refused{class: llm.Retry, code: task.BadResponse, message: message, partial: usedByEmbeds}}
}

func robustEmbeddings() map[string]robustEmbeds {
	nan := llmtest.Vector("x", 4)
	nan[2] = float32(math.NaN())
	endless := llmtest.Vector("x", 4)
	endless[2] = float32(math.Inf(1))
	return map[string]robustEmbeds{
		"good":                   {reply: embeddings(item(0, one), item(1, two), item(2, three))},
		"shuffled":               {reply: embeddings(item(2, three), item(0, one), item(1, two))},
		"every index 0":          {reply: embeddings(item(0, one), item(0, two), item(0, three))},
		"no index":               {reply: embeddings(noIndex(one), noIndex(two), noIndex(three))},
		"base64 unasked":         {reply: embeddings(llmtest.Item(0, llmtest.Base64(one)), llmtest.Item(1, llmtest.Base64(two)), item(2, three))},
		"base64 with escapes":    {reply: embeddings(llmtest.Item(0, strings.ReplaceAll(llmtest.Base64(one), "/", `\/`)), llmtest.Item(1, strings.ReplaceAll(llmtest.Base64(two), "A", `\u0041`)), item(2, three))},
		"numbers with spaces":    {reply: embeddings(llmtest.Item(0, strings.ReplaceAll(llmtest.Floats(one), ",", " ,\n ")), item(1, two), item(2, three))},
		"numbers, not base64":    {profile: "openai", reply: embeddings(item(0, one), item(1, two), item(2, three))},
		"dimensions as asked":    {dimensions: 4, reply: embeddings(item(0, one), item(1, two), item(2, three))},
		"too few":                badEmbeds("2 embeddings for 3 texts", item(0, one), item(1, two)),
		"too many":               badEmbeds("4 embeddings for 3 texts", item(0, one), item(1, two), item(2, three), item(3, one)),
		"none":                   badEmbeds("0 embeddings for 3 texts"),
		"an index twice":         badEmbeds("indexes", item(0, one), item(1, two), item(1, three)),
		"an index from outside":  badEmbeds("indexes", item(1, one), item(2, two), item(3, three)),
		"an index missing":       badEmbeds("indexes", item(0, one), item(1, two), noIndex(three)),
		"vector null":            badEmbeds("text 1 is not a list", item(0, one), llmtest.Item(1, "null"), item(2, three)),
		"vector empty":           badEmbeds("text 1 is empty", item(0, one), llmtest.Item(1, "[]"), item(2, three)),
		"base64 empty":           badEmbeds("text 1 is empty", item(0, one), llmtest.Item(1, `""`), item(2, three)),
		"base64 broken":          badEmbeds("text 1 is not base64", item(0, one), llmtest.Item(1, `"AAAA"`), item(2, three)),
		"null for a number":      badEmbeds("text 1 is not a list", item(0, one), llmtest.Item(1, "[0.1,null,0.2,0.3]"), item(2, three)),
		"a text for a number":    badEmbeds("text 1 is not a list", item(0, one), llmtest.Item(1, `[0.1,"NaN",0.2,0.3]`), item(2, three)),
		"lists in a list":        badEmbeds("text 1 is not a list", item(0, one), llmtest.Item(1, `[[0.1,0.1,0.2,0.3]]`), item(2, three)),
		"a number too large":     badEmbeds("text 1 is not a list", item(0, one), llmtest.Item(1, "[0.1,1e99,0.2,0.3]"), item(2, three)),
		"NaN":                    badEmbeds("text 1 has a number", item(0, one), llmtest.Item(1, llmtest.Base64(nan)), item(2, three)),
		"infinite":               badEmbeds("text 1 has a number", item(0, one), llmtest.Item(1, llmtest.Base64(endless)), item(2, three)),
		"vectors of two lengths": badEmbeds("text 1 has 3 numbers", item(0, one), item(1, two[:3]), item(2, three)),
		"dimensions not as asked": {dimensions: 8, reply: embeddings(item(0, one), item(1, two), item(2, three)), err: &refused{
			class: llm.Final, code: task.BadResponse, message: "have 4 numbers although 8 were asked for", partial: usedByEmbeds,
		}},
		"NaN as it is written in JSON": {reply: whole(`{"data":[{"index":0,"embedding":[NaN]}]}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no list of embeddings"}},
		"a chat answer":                {reply: whole(llmtest.JSON("x", llmtest.Usage{Input: 7})), err: &refused{class: llm.Retry, code: task.BadResponse, message: "0 embeddings", partial: usedByEmbeds}},
		"error with 200":               {reply: whole(`{"error":{"message":"boom","code":503}}`), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom"}},
		"page with 200":                {reply: llmtest.Raw("text/html", "<html>Sign in</html>"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "web page"}},
		"empty":                        {reply: whole(""), err: &refused{class: llm.Retry, code: task.BadResponse, message: "empty"}},
		"cut":                          {reply: whole(`{"data":[`).Then(llmtest.Cut), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "closed in the middle"}},
		"rate limit":                   {reply: llmtest.RateLimit(3), err: &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 3e9}},
		"too many texts (DashScope)":   {batch: true, reply: llmtest.TooMany(2), err: &refused{class: llm.Final, code: task.ModelRefused, own: "InvalidParameter", status: 400}},
		"too many texts (OpenAI)": {batch: true, reply: llmtest.Fail(400, fault("invalid_request_error", "array_above_max_length", "Invalid 'input': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.")), err: &refused{
			class: llm.Final, code: task.ModelRefused, own: "array_above_max_length", status: 400,
		}},
		"too many texts (413)": {batch: true, reply: llmtest.Fail(413, `{"error":"batch size 3 > maximum allowed batch size 2","type":"Validation"}`), err: &refused{
			class: llm.Final, code: task.ContextExceeded, own: "Validation", status: 413,
		}},
		"too much text": {batch: true, reply: llmtest.Fail(400, fault("max_tokens_per_request", "max_tokens_per_request", "Requested 310000 tokens, max 300000 tokens per request")), err: &refused{
			class: llm.Final, code: task.ModelRefused, own: "max_tokens_per_request", status: 400,
		}},
		"a text too long": {batch: true, reply: llmtest.Fail(400, fault("invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens")), err: &refused{
			class: llm.Final, code: task.ContextExceeded, own: "context_length_exceeded", status: 400,
		}},
		"another refusal": {reply: llmtest.Fail(400, fault("invalid_request_error", "x", "No such field")), err: &refused{class: llm.Final, code: task.ModelRefused, own: "x", status: 400}},
	}
}

func noIndex(v []float32) string { return `{"embedding":` + llmtest.Floats(v) + `}` }

func TestEmbed(t *testing.T) {
	t.Parallel()
	for name, test := range robustEmbeddings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", test.reply.With("X-Request-Id", "req-1"))
			made := client(t, p, func(c *openai.Config) { c.Profile = test.profile })
			got, err := made.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: texts, Dimensions: test.dimensions})
			if test.err == nil {
				require.NoError(t, err)
				require.Equal(t, llm.Embeddings{Vectors: good, Model: "llmtest-1", RequestID: "req-1", Usage: usedByEmbeds}, got)
			} else {
				checkRefused(t, *test.err, err)
				require.Empty(t, got)
			}
			require.Equal(t, test.batch, errors.Is(err, llm.ErrBatchTooLarge))
			require.Len(t, p.Calls(), 1)
		})
	}
}

func TestEmbedSends(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	bodies := make(chan string, 2)
	p.Handle(func(call llmtest.Call) llmtest.Reply {
		bodies <- string(call.Body)
		return llmtest.Reply{}
	})
	for profile, want := range map[string]string{
		"generic": `{"model":"m","input":["alpha","béta","γ"],"dimensions":5}`,
		"openai":  `{"model":"m","input":["alpha","béta","γ"],"dimensions":5,"encoding_format":"base64"}`,
	} {
		made := client(t, p, func(c *openai.Config) { c.Profile = profile })
		got, err := made.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: texts, Dimensions: 5})
		require.NoError(t, err)
		require.Equal(t, llmtest.Vector("γ", 5), got.Vectors[2])
		require.JSONEq(t, want, <-bodies)
	}
	require.Equal(t, "Bearer "+key, p.Calls()[0].Header.Get("Authorization"))
}

func TestEmbedSendsNothing(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	made := client(t, p, func(c *openai.Config) { c.Profile = "dashscope" })
	for name, test := range map[string]struct {
		texts []string
		want  string
	}{
		"no text":    {nil, "no text"},
		"empty text": {[]string{"a", ""}, "text 1 is empty"},
		"too many":   {strings.Fields(strings.Repeat("x ", 11)), "11 texts are too many"},
	} {
		_, err := made.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: test.texts})
		var e *llm.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, llm.Final, e.Class)
		require.Contains(t, e.Message, test.want)
		require.Equal(t, name == "too many", errors.Is(err, llm.ErrBatchTooLarge))
	}
	require.Empty(t, p.Calls())
}

// TestEmbedLimits are those of the profile, and what refusals have taught since.
func TestEmbedLimits(t *testing.T) {
	t.Parallel()
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("text %d", i)
	}
	tests := map[string]struct {
		profile string
		reply   llmtest.Reply // to a call that is too large
		texts   int           // of that call
		limit   int           // then
	}{
		"as the profile says":   {"dashscope", llmtest.Reply{}, 10, 10},
		"as the refusal says":   {"", llmtest.TooMany(32), 100, 32},
		"halved without number": {"", llmtest.Fail(400, `{"error":{"message":"too many inputs"}}`), 100, 50},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.Handle(over(test.limit, test.reply))
			made := client(t, p, func(c *openai.Config) { c.Profile = test.profile })
			_, err := made.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: many[:test.texts]})
			require.Equal(t, test.texts > test.limit, errors.Is(err, llm.ErrBatchTooLarge))
			require.Equal(t, test.limit, made.EmbedLimits("m").Inputs)
			require.True(t, llm.EmbedRequest{Texts: many[:test.limit]}.Fits(made.EmbedLimits("m")))
			require.False(t, llm.EmbedRequest{Texts: many[:test.limit+1]}.Fits(made.EmbedLimits("m")))

			got, err := made.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: many[:test.limit]})
			require.NoError(t, err)
			require.Equal(t, llmtest.Vector(many[test.limit-1], 8), got.Vectors[test.limit-1])
		})
	}
}

// over refuses calls of more texts than a limit.
func over(limit int, reply llmtest.Reply) func(llmtest.Call) llmtest.Reply {
	return func(call llmtest.Call) llmtest.Reply {
		if len(call.Inputs) > limit {
			return reply
		}
		return llmtest.Reply{}
	}
}

// TestIdempotencyKey reaches the provider, and does not make net/http send a request again that may have
// been worked on: an idle connection that breaks after the request was written is no leave to pay twice.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*openai.Client) error{
		"chat": func(c *openai.Client) error {
			req := ask("x")
			req.IdempotencyKey = "key-1"
			_, err := c.Complete(t.Context(), req, nil)
			return err
		},
		"embeddings": func(c *openai.Client) error {
			_, err := c.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: texts, IdempotencyKey: "key-1"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = w.Write([]byte(`{"data":[]}`))
					return
				}
				calls.Add(1)
				if r.Header.Get("Idempotency-Key") != "key-1" {
					t.Error("the key did not come")
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.Close() // after the request was read, on a connection that was idle before
			}))
			t.Cleanup(server.Close)
			made, err := openai.New(openai.Config{BaseURL: server.URL})
			require.NoError(t, err)
			_, err = made.Models(t.Context())
			require.NoError(t, err)
			err = call(made)
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, llm.Retry, e.Class)
			require.Equal(t, int64(1), calls.Load())
		})
	}
}
