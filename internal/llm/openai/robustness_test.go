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

// fast lets a provider's silence be noticed within a test. The cases that are slow but right stay
// well inside each limit, and go beyond it in sum.
func fast(c *openai.Config) {
	c.FirstByteTimeout, c.IdleTimeout, c.ProgressTimeout = 10*time.Second, 500*time.Millisecond, 1500*time.Millisecond
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

// TestRobustness sends the bytes of providers over a socket. The numbers are the rows of the list of
// robustness cases; every case is one request, whatever comes back.
func TestRobustness(t *testing.T) {
	t.Parallel()
	page := "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>p{}</style></head><body><h1>cloudy</h1>" + strings.Repeat("<p>sorry</p>", 100) + "</body></html>"
	long := strings.Repeat("x", 2<<20)
	tests := map[string]struct {
		reply llmtest.Reply
		ok    *answered
		err   *refused
	}{
		"R01 rate limit with seconds": {
			reply: llmtest.RateLimit(7),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "Rate limit reached", own: "rate_limit_exceeded", status: 429, after: 7 * time.Second},
		},
		"R01 rate limit with milliseconds": {
			reply: llmtest.RateLimit(7).With("Retry-After-Ms", "1500"),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 1500 * time.Millisecond},
		},
		"R01 rate limit with a date": {
			reply: llmtest.RateLimit(0).With("Date", "Sun, 29 Nov 2026 10:00:00 GMT").With("Retry-After", "Sun, 29 Nov 2026 10:01:30 GMT"),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 90 * time.Second},
		},
		"R01 rate limit with a sentence": {
			reply: llmtest.Fail(429, `{"error":{"message":"Limit 30000, Requested 21000. Please try again in 41.724s. Visit us.","type":"tokens","code":"rate_limit_exceeded"}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 41724 * time.Millisecond},
		},
		"R01 rate limit with reset headers": {
			reply: llmtest.RateLimit(0).With("X-Ratelimit-Remaining-Tokens", "0").With("X-Ratelimit-Reset-Tokens", "6m0s").With("X-Ratelimit-Reset-Requests", "1s"),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 6 * time.Minute},
		},
		"R01 rate limit with nothing": {
			reply: llmtest.Fail(429, ""),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "Too Many Requests, and no reason given", status: 429},
		},
		"R01 rate limit with a numeric code": {
			reply: llmtest.Fail(429, `{"error":{"code":429,"message":"slow"}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "slow", status: 429},
		},
		"R01 rate limit of a relay": {
			reply: llmtest.Fail(429, `{"error":{"message":"No deployments available. Try again in 60 seconds.","type":"None","param":"None","code":"429"}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "No deployments", status: 429, after: time.Minute},
		},
		"R02 no money": {
			reply: llmtest.Fail(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`),
			err:   &refused{class: llm.Final, code: task.ModelQuota, message: "exceeded your current quota", own: "insufficient_quota", status: 429},
		},
		"R02 payment required": {
			reply: llmtest.Fail(402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`),
			err:   &refused{class: llm.Final, code: task.ModelQuota, message: "Insufficient Balance", own: "invalid_request_error", status: 402},
		},
		"R04 no way to a model": {
			reply: llmtest.Fail(503, `{"error":{"code":"model_not_found","message":"no available channel for model m","type":"new_api_error"}}`),
			err:   &refused{class: llm.Retry, code: task.ModelUnknown, own: "model_not_found", status: 503},
		},
		"R05 no money at a relay": {
			reply: llmtest.Fail(403, `{"error":{"message":"user quota is not enough","type":"new_api_error","code":"insufficient_user_quota"}}`),
			err:   &refused{class: llm.Final, code: task.ModelQuota, own: "insufficient_user_quota", status: 403},
		},
		"R06 error is a sentence": {
			reply: llmtest.Fail(404, `{"error":"model 'm' not found"}`),
			err:   &refused{class: llm.Final, code: task.ModelUnknown, message: "model 'm' not found", status: 404},
		},
		"R07 flat": {
			reply: llmtest.Fail(400, `{"object":"error","message":"unknown field foo","type":"BadRequestError","param":null,"code":400}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "unknown field foo", own: "BadRequestError", status: 400},
		},
		"R08 details": {
			reply: llmtest.Fail(422, `{"detail":[{"loc":["body","messages",0],"msg":"field required","type":"value_error"},{"loc":["body"],"msg":"too odd"}]}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "body.messages.0: field required; body: too odd", status: 422},
		},
		"R09 message null": {
			reply: llmtest.Fail(400, `{"error":{"message":null,"type":"t","code":"c"}}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "Bad Request, and no reason given", own: "c", status: 400},
		},
		"R09 message an object": {
			reply: llmtest.Fail(400, `{"error":{"message":{"message":"inside"},"type":"t","code":null}}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "inside", own: "t", status: 400},
		},
		"R09 message a list": {
			reply: llmtest.Fail(400, `{"error":{"message":["one","two"],"param":{"a":1}}}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "one; two", status: 400},
		},
		"R09 error in a list": {
			reply: llmtest.Fail(400, `[{"error":{"code":400,"message":"listed","status":"INVALID_ARGUMENT"}}]`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "listed", own: "INVALID_ARGUMENT", status: 400},
		},
		"R10 upstream text of a relay": {
			reply: llmtest.Fail(502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream burnt down","provider_name":"x"}}}`),
			err:   &refused{class: llm.Retry, code: task.ModelUnavailable, message: "Provider returned error upstream burnt down", status: 502},
		},
		"R11 502 page":          {reply: llmtest.Fail(502, page), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "502 Bad Gateway cloudy sorry", status: 502}},
		"R11 504 empty":         {reply: llmtest.Fail(504, ""), err: &refused{class: llm.Retry, code: task.ModelUnavailable, status: 504}},
		"R11 524 page":          {reply: llmtest.Fail(524, page), err: &refused{class: llm.Retry, code: task.ModelUnavailable, status: 524}},
		"R11 529 overloaded":    {reply: llmtest.Fail(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "Overloaded", own: "overloaded_error", status: 529}},
		"R11 503 with a hint":   {reply: llmtest.Fail(503, `{"error":{"message":"busy","type":"service_unavailable_error"}}`).With("Retry-After", "3"), err: &refused{class: llm.Retry, code: task.ModelUnavailable, own: "service_unavailable_error", status: 503, after: 3 * time.Second}},
		"R11 500 not to retry":  {reply: llmtest.Fail(500, `{"error":{"message":"no"}}`).With("X-Should-Retry", "false"), err: &refused{class: llm.Final, code: task.ModelUnavailable, status: 500}},
		"R11 408":               {reply: llmtest.Fail(408, ""), err: &refused{class: llm.Retry, code: task.ModelUnavailable, status: 408}},
		"R11 a status of pages": {reply: llmtest.Fail(434, `no`), err: &refused{class: llm.Final, code: task.ModelRefused, message: "no", status: 434}},
		"R12 page with 200":     {reply: llmtest.Raw("text/html", page), err: &refused{class: llm.Retry, code: task.BadResponse, message: "web page, not JSON: 502 Bad Gateway cloudy"}},
		"R12 text with 200":     {reply: llmtest.Raw("text/plain", "upstream connect error"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "upstream connect error"}},
		"R13 error with 200":    {reply: whole(`{"error":{"message":"boom","type":"server_error","code":null}}`), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom", own: "server_error"}},
		"R13 error with 200 and a code": {
			reply: whole(`{"choices":null,"error":{"message":"limit","code":429}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "limit"},
		},
		"R13 error with 200 of an unknown sort": {
			reply: whole(`{"error":"no idea"}`),
			err:   &refused{class: llm.Retry, code: task.BadResponse, message: "no idea"},
		},
		"R14 flat with 200": {
			reply: whole(`{"code":"InvalidApiKey","message":"bad key","request_id":"req-7"}`),
			err:   &refused{class: llm.Retry, code: task.BadResponse, message: "bad key", own: "InvalidApiKey"},
		},
		"R15 empty":          {reply: whole(""), err: &refused{class: llm.Retry, code: task.BadResponse, message: "the answer is empty"}},
		"R15 null":           {reply: whole("null"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "the answer is empty"}},
		"R16 no choices":     {reply: whole(`{"id":"x","choices":[]}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"R16 choices null":   {reply: whole(`{"id":"x","choices":null}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"R16 another object": {reply: whole(`{"id":"x"}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"R17 blank lines before JSON": {
			reply: llmtest.Raw("application/json", "\n", "\n", "\r\n", "\n", llmtest.JSON("Hello", llmtest.Usage{Input: 7, Output: 3, Cached: 2})).Every(150 * time.Millisecond),
			ok:    &answered{"Hello", "stop", counts},
		},
		"R18 body cut before its length": {
			reply: whole(`{"choices":[{"message":{"content":"Hel`).With("Content-Length", "4000"),
			err:   &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "closed in the middle"},
		},
		"R18 JSON that ends too early": {
			reply: whole(`{"choices":[{"message":{"content":"Hel`),
			err:   &refused{class: llm.Retry, code: task.BadResponse, message: "not JSON"},
		},
		"R20 JSON although a stream was asked for": {
			reply: whole(llmtest.JSON("Hello", llmtest.Usage{Input: 7, Output: 3, Cached: 2})), ok: &answered{"Hello", "stop", counts},
		},
		"R20 pretty JSON said to be a stream": {
			reply: sse("{\n  \"error\": null,\n  \"choices\": [\n    {\"message\": {\"content\": \"Hello\"},\r\n \"finish_reason\": \"stop\"}]\n}\n"), ok: &answered{text: "Hello", reason: "stop"},
		},
		"R21 JSON error said to be a stream": {
			reply: sse(`{"error":{"message":"boom","code":"context_length_exceeded"}}`),
			err:   &refused{class: llm.Final, code: task.ContextExceeded, message: "boom", own: "context_length_exceeded"},
		},
		"R22 pings": {
			reply: sse(strings.Repeat(": keep-alive\n\n", 400), "data: "+hello+"\n\n", strings.Repeat(": keep-alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n", 400), "data: "+stop+"\n\n"),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"R23 no space after the colon": {reply: sse("data:" + hello + "\n\ndata:" + stop + "\n\ndata:[DONE]\n\n"), ok: &answered{text: "Hello", reason: "stop"}},
		"R23 CRLF":                     {reply: sse("data: " + hello + "\r\n\r\ndata: " + stop + "\r\n\r\ndata: [DONE]\r\n\r\n"), ok: &answered{text: "Hello", reason: "stop"}},
		"R23 CR":                       {reply: sse("data: " + hello + "\r\rdata: " + stop + "\r\rdata: [DONE]\r\r"), ok: &answered{text: "Hello", reason: "stop"}},
		"R23 BOM":                      {reply: sse("\ufeffdata: " + hello + "\n\ndata: " + stop + "\n\ndata: [DONE]\n\n"), ok: &answered{text: "Hello", reason: "stop"}},
		"R23 id, retry and event": {
			reply: sse("id: 1\nretry: 100\nevent: message\ndata: " + hello + "\n\nid\nunknown: x\ndata: " + stop + "\n\n"), ok: &answered{text: "Hello", reason: "stop"},
		},
		"R24 blank data and data on several lines": {
			reply: sse("data:\n\ndata: {\"choices\":[{\"delta\":\ndata: {\"content\":\"Hello\"},\ndata: \"finish_reason\":\"stop\"}]}\n\ndata: \n\n"),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"R24 no blank lines between events": {
			reply: sse("data: " + hello + "\ndata: " + stop + "\ndata: " + used + "\ndata: [DONE]\n"), ok: &answered{"Hello", "stop", counts},
		},
		"R25 error after a comment": {
			reply: sse("data: " + hello + "\n\ndata: " + used + "\n\n: still here\n\ndata: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\ndata: [DONE]\n\n"),
			err:   &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom", own: "server_error", partial: counts},
		},
		"R25 error is a sentence": {reply: stream(hello, `{"error":"boom"}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "boom"}},
		"R25 error with spaces":   {reply: stream(hello, `{ "error" : {"message":"boom","code":503} }`), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom"}},
		"R25 error null is none":  {reply: stream(`{"error":null,"choices":[{"delta":{"content":"Hello"}}]}`, stop), ok: &answered{text: "Hello", reason: "stop"}},
		"R25 the word error in a text": {
			reply: stream(`{"choices":[{"delta":{"content":"say \"error\": {"}}]}`, stop), ok: &answered{text: `say "error": {`, reason: "stop"},
		},
		"R26 error inside a chunk": {
			reply: stream(hello, `{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"upstream gone"}}`, "[DONE]"),
			err:   &refused{class: llm.Retry, code: task.ModelUnavailable, message: "upstream gone"},
		},
		"R26 finish reason error": {reply: stream(hello, llmtest.Delta("", "error"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "finish reason error"}},
		"R27 event error, nested": {reply: sse("data: " + hello + "\n\nevent: error\ndata: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\n"), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom"}},
		"R27 event error, flat":   {reply: sse("data: " + hello + "\n\nevent:error\ndata: {\"code\":\"insufficient_quota\",\"message\":\"broke\"}\n\n"), err: &refused{class: llm.Final, code: task.ModelQuota, message: "broke", own: "insufficient_quota"}},
		"R27 event error, text":   {reply: sse("event: error\ndata: it broke\n\n"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "it broke"}},
		"R28 clean end, no finish reason": {
			reply: stream(hello, used).Then(llmtest.Close), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without a finish reason", partial: counts},
		},
		"R28 chunked end, no finish reason": {reply: stream(hello), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without a finish reason"}},
		"R28 connection cut":                {reply: stream(hello, used).Then(llmtest.Cut), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "closed in the middle", partial: counts}},
		"R28 connection reset":              {reply: stream(hello).Then(llmtest.Reset), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "closed in the middle"}},
		"R28 cut after the finish reason":   {reply: stream(hello, stop).Then(llmtest.Cut), ok: &answered{text: "Hello", reason: "stop"}},
		"R28 cut after the usage":           {reply: stream(hello, stop, used).Then(llmtest.Reset), ok: &answered{"Hello", "stop", counts}},
		"R29 done, no finish reason":        {reply: stream(hello, "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without a finish reason"}},
		"R30 abort":                         {reply: stream(hello, llmtest.Delta("", "abort"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "abort"}},
		"R30 no resources":                  {reply: stream(hello, llmtest.Delta("", "insufficient_system_resource"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete}},
		"R30 network error":                 {reply: stream(hello, llmtest.Delta("", "network_error"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete}},
		"R32 finish reason blank":           {reply: stream(`{"choices":[{"delta":{"content":"Hello"},"finish_reason":""}]}`, "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete}},
		"R32 finish reason blank around":    {reply: stream(`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{},"finish_reason":""}]}`), ok: &answered{text: "Hello", reason: "stop"}},
		"R32 finish reason unknown":         {reply: stream(hello, llmtest.Delta("", "sated")), ok: &answered{text: "Hello", reason: "stop"}},
		"R32 length":                        {reply: stream(hello, llmtest.Delta("", "length"), used), ok: &answered{"Hello", "length", counts}},
		"R32 length and no text":            {reply: stream(llmtest.Delta("", "length"), used), err: &refused{class: llm.Final, code: task.AnswerIncomplete, message: "limit of tokens", partial: counts}},
		"R32 content filter":                {reply: stream(hello, llmtest.Delta("", "content_filter")), err: &refused{class: llm.Final, code: task.ContentFiltered}},
		"R32 sensitive":                     {reply: stream(hello, llmtest.Delta("", "sensitive")), err: &refused{class: llm.Final, code: task.ContentFiltered}},
		"R32 refusal": {
			reply: stream(`{"choices":[{"delta":{"refusal":"I will "}}]}`, `{"choices":[{"delta":{"refusal":"not."}}]}`, stop),
			err:   &refused{class: llm.Final, code: task.ContentFiltered, message: "I will not."},
		},
		"R33 last line without its end": {reply: sse("data: " + hello + "\n\ndata: " + stop), ok: &answered{text: "Hello", reason: "stop"}},
		"R34 chunks without choices or delta": {
			reply: stream(`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, hello, `{"choices":[{"index":0}]}`, stop), ok: &answered{text: "Hello", reason: "stop"},
		},
		"R40 content null and a list": {
			reply: stream(`{"choices":[{"delta":{"content":null}}]}`, `{"choices":[{"delta":{"content":[{"type":"text","text":"Hel"},{"type":"image_url"},{"type":"text","text":"lo"}]}}]}`, stop),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"R40 think tags are left": {reply: stream(llmtest.Delta("<think>x</think>Hello", "stop")), ok: &answered{text: "<think>x</think>Hello", reason: "stop"}},
		"R41 reasoning is no answer": {
			reply: stream(`{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}`, stop, used), err: &refused{class: llm.Retry, code: task.BadResponse, message: "empty", partial: counts},
		},
		"R41 reasoning before an answer": {reply: stream(`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, hello, stop), ok: &answered{text: "Hello", reason: "stop"}},
		"R42 usage null and absent":      {reply: stream(hello, stop, `{"choices":[],"usage":null}`, `{"choices":[],"usage":{}}`), ok: &answered{text: "Hello", reason: "stop"}},
		"R42 usage in floats and quotes": {
			reply: stream(hello, stop, `{"choices":[],"usage":{"prompt_tokens":7.0,"completion_tokens":"3","prompt_tokens_details":{"cached_tokens":2.0}}}`), ok: &answered{"Hello", "stop", counts},
		},
		"R42 usage in every chunk": {
			reply: stream(`{"choices":[{"delta":{"content":"Hello"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":2}}`),
			ok:    &answered{"Hello", "stop", counts},
		},
		"R43 fields of wrong types": {
			reply: stream(`{"id":7,"created":"now","model":null,"system_fingerprint":[],"choices":[{"index":"0","delta":{"role":1,"content":"Hello","tool_calls":{}},"logprobs":3,"finish_reason":null}]}`, `{"created":1.5,"model":{},"choices":[{"delta":{"content":{}},"finish_reason":"stop"}]}`),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"R44 a line of 2 MiB":                 {reply: stream(llmtest.Delta(long, ""), stop), ok: &answered{text: long, reason: "stop"}},
		"R44 a line that does not end":        {reply: sse("data: " + strings.Repeat(long, 9)), err: &refused{class: llm.Final, code: task.BadResponse, message: "larger than 16 MiB"}},
		"R44 JSON that does not end":          {reply: whole("{" + strings.Repeat(long, 9)), err: &refused{class: llm.Final, code: task.BadResponse, message: "larger than 16 MiB"}},
		"R45 silence in the middle":           {reply: stream(hello, used).Then(llmtest.Silence), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "fell silent", partial: counts}},
		"R45 pings for ever":                  {reply: stream(hello).Then(llmtest.Ping), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without any text"}},
		"R45 silence after the finish reason": {reply: stream(hello, stop).Then(llmtest.Silence), ok: &answered{text: "Hello", reason: "stop"}},
		"R45 silence after the end mark":      {reply: stream(hello, stop, "[DONE]").Then(llmtest.Silence), ok: &answered{text: "Hello", reason: "stop"}},
		"R45 pings after the end mark":        {reply: stream(hello, stop, "[DONE]").Then(llmtest.Ping), ok: &answered{text: "Hello", reason: "stop"}},
		"R45 slow but alive":                  {reply: stream("", "", "", hello, "", "", "", stop).Every(150 * time.Millisecond), ok: &answered{text: "Hello", reason: "stop"}},
		"R47 redirect":                        {reply: llmtest.Fail(302, "").With("Location", "https://login.example.com/?next=x"), err: &refused{class: llm.Final, code: task.ModelRefused, message: "login.example.com", status: 302}},
		"R48 prompt too long, 400":            {reply: llmtest.Fail(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","code":400}}`), err: &refused{class: llm.Final, code: task.ContextExceeded, own: "BadRequestError", status: 400}},
		"R48 prompt too long, 500":            {reply: llmtest.Fail(500, `{"error":{"code":500,"message":"too big","type":"exceed_context_size_error"}}`), err: &refused{class: llm.Final, code: task.ContextExceeded, own: "exceed_context_size_error", status: 500}},
		"R48 prompt too long, 413":            {reply: llmtest.Fail(413, page), err: &refused{class: llm.Final, code: task.ContextExceeded, status: 413}},
		"key refused":                         {reply: llmtest.Fail(401, `{"error":{"message":"Incorrect API key provided: `+key+`","type":"invalid_request_error","code":"invalid_api_key"}}`), err: &refused{class: llm.Final, code: task.ModelAuth, message: "Incorrect API key provided: ***", own: "invalid_api_key", status: 401}},
		"content refused":                     {reply: llmtest.Fail(400, `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`), err: &refused{class: llm.Final, code: task.ContentFiltered, own: "content_filter", status: 400}},
		"a chunk that is not JSON":            {reply: stream(hello, `{"choices":[{"delta":`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "not JSON"}},
		"an event that is not JSON":           {reply: stream(hello, "gateway timeout"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "gateway timeout"}},
		"nothing but pings and a good ending": {reply: sse(": ping\n\n: ping\n\n"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"only white space":                    {reply: stream(llmtest.Delta(" \n ", "stop")), err: &refused{class: llm.Retry, code: task.BadResponse, message: "empty"}},
		"a good answer":                       {reply: llmtest.Answer("Hello there, world", llmtest.Usage{Input: 7, Output: 3, Cached: 2}), ok: &answered{"Hello there, world", "stop", counts}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", test.reply.With("X-Request-Id", "req-1"))
			got, err := client(t, p, fast).Complete(t.Context(), ask(name), nil)
			if test.ok != nil {
				require.NoError(t, err)
				require.Equal(t, *test.ok, answered{got.Text, got.FinishReason, got.Usage})
				require.Equal(t, "req-1", got.RequestID)
			} else {
				checkRefused(t, *test.err, err)
			}
			require.Len(t, p.Calls(), 1)
		})
	}
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
	require.Equal(t, want, refused{e.Class, e.Code, e.Message, e.ProviderCode, e.Status, e.RetryAfter, e.Partial})
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
				require.True(t, strings.HasPrefix(test.want, now.Tail) || strings.HasSuffix(now.Tail, "\ufffd"))
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
			began := time.Now()
			cancel()
			require.NoError(t, p.WaitGone(t.Context(), 1))
			require.Less(t, time.Since(began), time.Second) // a socket is closed in about a millisecond
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
