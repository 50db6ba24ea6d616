package openai_test

import (
	"strings"
	"time"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// robust is what a provider sends, and the one thing that it must come to.
type robust struct {
	profile string // "" is generic
	reply   llmtest.Reply
	ok      *answered
	err     *refused
}

// robustness are the ways of providers to misbehave on the wire, whoever they are. The numbers are the
// rows of the list of robustness cases.
func robustness() map[string]robust {
	page := "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>p{}</style></head><body><h1>cloudy</h1>" + strings.Repeat("<p>sorry</p>", 100) + "</body></html>"
	long := strings.Repeat("x", 2<<20)
	return map[string]robust{
		"rate limit with seconds": {
			reply: llmtest.RateLimit(7),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "Rate limit reached", own: "rate_limit_exceeded", status: 429, after: 7 * time.Second},
		},
		"rate limit with milliseconds": {
			reply: llmtest.RateLimit(7).With("Retry-After-Ms", "1500"),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 1500 * time.Millisecond},
		},
		"rate limit with a date": {
			reply: llmtest.RateLimit(0).With("Date", "Sun, 29 Nov 2026 10:00:00 GMT").With("Retry-After", "Sun, 29 Nov 2026 10:01:30 GMT"),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 90 * time.Second},
		},
		"rate limit with a sentence": {
			reply: llmtest.Fail(429, `{"error":{"message":"Limit 30000, Requested 21000. Please try again in 41.724s. Visit us.","type":"tokens","code":"rate_limit_exceeded"}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 41724 * time.Millisecond},
		},
		"rate limit with reset headers": {
			reply: llmtest.RateLimit(0).With("X-Ratelimit-Remaining-Tokens", "0").With("X-Ratelimit-Reset-Tokens", "6m0s").With("X-Ratelimit-Reset-Requests", "1s"),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 6 * time.Minute},
		},
		"rate limit with a reset in milliseconds since 1970": {
			reply: llmtest.RateLimit(0).With("Date", "Sun, 29 Nov 2026 10:00:00 GMT").With("X-Ratelimit-Remaining", "0").With("X-Ratelimit-Reset", "1795946430000"),
			err:   &refused{class: llm.Wait, code: task.RateLimited, own: "rate_limit_exceeded", status: 429, after: 30 * time.Second},
		},
		"rate limit with nothing": {
			reply: llmtest.Fail(429, ""),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "Too Many Requests, and no reason given", status: 429},
		},
		"rate limit with a numeric code": {
			reply: llmtest.Fail(429, `{"error":{"code":429,"message":"slow"}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "slow", status: 429},
		},
		"rate limit of a relay": {
			reply: llmtest.Fail(429, `{"error":{"message":"No deployments available. Try again in 60 seconds.","type":"None","param":"None","code":"429"}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "No deployments", status: 429, after: time.Minute},
		},
		"no money": {
			reply: llmtest.Fail(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`),
			err:   &refused{class: llm.Final, code: task.ModelQuota, message: "exceeded your current quota", own: "insufficient_quota", status: 429},
		},
		"payment required": {
			reply: llmtest.Fail(402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`),
			err:   &refused{class: llm.Final, code: task.ModelQuota, message: "Insufficient Balance", own: "invalid_request_error", status: 402},
		},
		"no way to a model": {
			reply: llmtest.Fail(503, `{"error":{"code":"model_not_found","message":"no available channel for model m","type":"new_api_error"}}`),
			err:   &refused{class: llm.Retry, code: task.ModelUnknown, own: "model_not_found", status: 503, tries: 2},
		},
		"no money at a relay": {
			reply: llmtest.Fail(403, `{"error":{"message":"user quota is not enough","type":"new_api_error","code":"insufficient_user_quota"}}`),
			err:   &refused{class: llm.Final, code: task.ModelQuota, own: "insufficient_user_quota", status: 403},
		},
		"error is a sentence": {
			reply: llmtest.Fail(404, `{"error":"model 'm' not found"}`),
			err:   &refused{class: llm.Final, code: task.ModelUnknown, message: "model 'm' not found", status: 404},
		},
		"flat": {
			reply: llmtest.Fail(400, `{"object":"error","message":"unknown field foo","type":"BadRequestError","param":null,"code":400}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "unknown field foo", own: "BadRequestError", status: 400},
		},
		"details": {
			reply: llmtest.Fail(422, `{"detail":[{"loc":["body","messages",0],"msg":"field required","type":"value_error"},{"loc":["body"],"msg":"too odd"}]}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "body.messages.0: field required; body: too odd", status: 422},
		},
		"message null": {
			reply: llmtest.Fail(400, `{"error":{"message":null,"type":"t","code":"c"}}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "Bad Request, and no reason given", own: "c", status: 400},
		},
		"message an object": {
			reply: llmtest.Fail(400, `{"error":{"message":{"message":"inside"},"type":"t","code":null}}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "inside", own: "t", status: 400},
		},
		"message a list": {
			reply: llmtest.Fail(400, `{"error":{"message":["one","two"],"param":{"a":1}}}`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "one; two", status: 400},
		},
		"error in a list": {
			reply: llmtest.Fail(400, `[{"error":{"code":400,"message":"listed","status":"INVALID_ARGUMENT"}}]`),
			err:   &refused{class: llm.Final, code: task.ModelRefused, message: "listed", own: "INVALID_ARGUMENT", status: 400},
		},
		"upstream text of a relay": {
			reply: llmtest.Fail(502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream burnt down","provider_name":"x"}}}`),
			err:   &refused{class: llm.Retry, code: task.ModelUnavailable, message: "Provider returned error upstream burnt down", status: 502},
		},
		"502 page":          {reply: llmtest.Fail(502, page), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "502 Bad Gateway cloudy sorry", status: 502}},
		"504 empty":         {reply: llmtest.Fail(504, ""), err: &refused{class: llm.Retry, code: task.ModelUnavailable, status: 504}},
		"524 page":          {reply: llmtest.Fail(524, page), err: &refused{class: llm.Retry, code: task.ModelUnavailable, status: 524}},
		"529 overloaded":    {reply: llmtest.Fail(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "Overloaded", own: "overloaded_error", status: 529}},
		"503 with a hint":   {reply: llmtest.Fail(503, `{"error":{"message":"busy","type":"service_unavailable_error"}}`).With("Retry-After", "3"), err: &refused{class: llm.Retry, code: task.ModelUnavailable, own: "service_unavailable_error", status: 503, after: 3 * time.Second}},
		"500 not to retry":  {reply: llmtest.Fail(500, `{"error":{"message":"no"}}`).With("X-Should-Retry", "false"), err: &refused{class: llm.Final, code: task.ModelUnavailable, status: 500}},
		"408":               {reply: llmtest.Fail(408, ""), err: &refused{class: llm.Retry, code: task.ModelUnavailable, status: 408}},
		"a status of pages": {reply: llmtest.Fail(434, `no`), err: &refused{class: llm.Final, code: task.ModelRefused, message: "no", status: 434}},
		"page with 200":     {reply: llmtest.Raw("text/html", page), err: &refused{class: llm.Retry, code: task.BadResponse, message: "web page, not JSON: 502 Bad Gateway cloudy"}},
		"text with 200":     {reply: llmtest.Raw("text/plain", "upstream connect error"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "upstream connect error"}},
		"error with 200":    {reply: whole(`{"error":{"message":"boom","type":"server_error","code":null}}`), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom", own: "server_error"}},
		"error with 200 and a code": {
			reply: whole(`{"choices":null,"error":{"message":"limit","code":429}}`),
			err:   &refused{class: llm.Wait, code: task.RateLimited, message: "limit"},
		},
		"error with 200 of an unknown sort": {
			reply: whole(`{"error":"no idea"}`),
			err:   &refused{class: llm.Retry, code: task.BadResponse, message: "no idea"},
		},
		"flat with 200": {
			reply: whole(`{"code":"InvalidApiKey","message":"bad key","request_id":"req-7"}`),
			err:   &refused{class: llm.Retry, code: task.BadResponse, message: "bad key", own: "InvalidApiKey"},
		},
		"empty":          {reply: whole(""), err: &refused{class: llm.Retry, code: task.BadResponse, message: "the answer is empty"}},
		"null":           {reply: whole("null"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "the answer is empty"}},
		"no choices":     {reply: whole(`{"id":"x","choices":[]}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"choices null":   {reply: whole(`{"id":"x","choices":null}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"another object": {reply: whole(`{"id":"x"}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"blank lines before JSON": {
			reply: llmtest.Raw("application/json", "\n", "\n", "\r\n", "\n", llmtest.JSON("Hello", llmtest.Usage{Input: 7, Output: 3, Cached: 2})).Every(600 * time.Millisecond),
			ok:    &answered{"Hello", "stop", counts},
		},
		"silence before JSON, longer than silence may be in the middle": {
			reply: whole(llmtest.JSON("Hello", llmtest.Usage{Input: 7, Output: 3, Cached: 2})).After(1500 * time.Millisecond),
			ok:    &answered{"Hello", "stop", counts},
		},
		"body cut before its length": {
			reply: whole(`{"choices":[{"message":{"content":"Hel`).With("Content-Length", "4000"),
			err:   &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "closed in the middle"},
		},
		"JSON that ends too early": {
			reply: whole(`{"choices":[{"message":{"content":"Hel`),
			err:   &refused{class: llm.Retry, code: task.BadResponse, message: "not JSON"},
		},
		"JSON although a stream was asked for": {
			reply: whole(llmtest.JSON("Hello", llmtest.Usage{Input: 7, Output: 3, Cached: 2})), ok: &answered{"Hello", "stop", counts},
		},
		"pretty JSON said to be a stream": {
			reply: sse("{\n  \"error\": null,\n  \"choices\": [\n    {\"message\": {\"content\": \"Hello\"},\r\n \"finish_reason\": \"stop\"}]\n}\n"), ok: &answered{text: "Hello", reason: "stop"},
		},
		"JSON error said to be a stream": {
			reply: sse(`{"error":{"message":"boom","code":"context_length_exceeded"}}`),
			err:   &refused{class: llm.Final, code: task.ContextExceeded, message: "boom", own: "context_length_exceeded"},
		},
		"pings": {
			reply: sse(strings.Repeat(": keep-alive\n\n", 400), "data: "+hello+"\n\n", strings.Repeat(": keep-alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n", 400), "data: "+stop+"\n\n"),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"no space after the colon": {reply: sse("data:" + hello + "\n\ndata:" + stop + "\n\ndata:[DONE]\n\n"), ok: &answered{text: "Hello", reason: "stop"}},
		"CRLF":                     {reply: sse("data: " + hello + "\r\n\r\ndata: " + stop + "\r\n\r\ndata: [DONE]\r\n\r\n"), ok: &answered{text: "Hello", reason: "stop"}},
		"CR":                       {reply: sse("data: " + hello + "\r\rdata: " + stop + "\r\rdata: [DONE]\r\r"), ok: &answered{text: "Hello", reason: "stop"}},
		"BOM":                      {reply: sse("\ufeffdata: " + hello + "\n\ndata: " + stop + "\n\ndata: [DONE]\n\n"), ok: &answered{text: "Hello", reason: "stop"}},
		"id, retry and event": {
			reply: sse("id: 1\nretry: 100\nevent: message\ndata: " + hello + "\n\nid\nunknown: x\ndata: " + stop + "\n\n"), ok: &answered{text: "Hello", reason: "stop"},
		},
		"blank data and data on several lines": {
			reply: sse("data:\n\ndata: {\"choices\":[{\"delta\":\ndata: {\"content\":\"Hello\"},\ndata: \"finish_reason\":\"stop\"}]}\n\ndata: \n\n"),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"no blank lines between events": {
			reply: sse("data: " + hello + "\ndata: " + stop + "\ndata: " + used + "\ndata: [DONE]\n"), ok: &answered{"Hello", "stop", counts},
		},
		"error after a comment": {
			reply: sse("data: " + hello + "\n\ndata: " + used + "\n\n: still here\n\ndata: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\ndata: [DONE]\n\n"),
			err:   &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom", own: "server_error", partial: counts},
		},
		"error in a stream is a sentence": {reply: stream(hello, `{"error":"boom"}`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "boom"}},
		"error with spaces":               {reply: stream(hello, `{ "error" : {"message":"boom","code":503} }`), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom"}},
		"error null is none":              {reply: stream(`{"error":null,"choices":[{"delta":{"content":"Hello"}}]}`, stop), ok: &answered{text: "Hello", reason: "stop"}},
		"the word error in a text": {
			reply: stream(`{"choices":[{"delta":{"content":"say \"error\": {"}}]}`, stop), ok: &answered{text: `say "error": {`, reason: "stop"},
		},
		"error inside a chunk": {
			reply: stream(hello, `{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"upstream gone"}}`, "[DONE]"),
			err:   &refused{class: llm.Retry, code: task.ModelUnavailable, message: "upstream gone"},
		},
		"finish reason error": {reply: stream(hello, llmtest.Delta("", "error"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "finish reason error"}},
		"event error, nested": {reply: sse("data: " + hello + "\n\nevent: error\ndata: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\n"), err: &refused{class: llm.Retry, code: task.ModelUnavailable, message: "boom"}},
		"event error, flat":   {reply: sse("data: " + hello + "\n\nevent:error\ndata: {\"code\":\"insufficient_quota\",\"message\":\"broke\"}\n\n"), err: &refused{class: llm.Final, code: task.ModelQuota, message: "broke", own: "insufficient_quota"}},
		"event error, text":   {reply: sse("event: error\ndata: it broke\n\n"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "it broke"}},
		"clean end, no finish reason": {
			reply: stream(hello, used).Then(llmtest.Close), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without a finish reason", partial: counts},
		},
		"chunked end, no finish reason": {reply: stream(hello), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without a finish reason"}},
		"connection cut":                {reply: stream(hello, used).Then(llmtest.Cut), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "closed in the middle", partial: counts}},
		"connection reset":              {reply: stream(hello).Then(llmtest.Reset), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "closed in the middle"}},
		"cut after the finish reason":   {reply: stream(hello, stop).Then(llmtest.Cut), ok: &answered{text: "Hello", reason: "stop"}},
		"cut after the usage":           {reply: stream(hello, stop, used).Then(llmtest.Reset), ok: &answered{"Hello", "stop", counts}},
		"done, no finish reason":        {reply: stream(hello, "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without a finish reason"}},
		"abort":                         {reply: stream(hello, llmtest.Delta("", "abort"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "abort"}},
		"no resources":                  {reply: stream(hello, llmtest.Delta("", "insufficient_system_resource"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete}},
		"network error":                 {reply: stream(hello, llmtest.Delta("", "network_error"), "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete}},
		"finish reason blank":           {reply: stream(`{"choices":[{"delta":{"content":"Hello"},"finish_reason":""}]}`, "[DONE]"), err: &refused{class: llm.Retry, code: task.AnswerIncomplete}},
		"finish reason blank around":    {reply: stream(`{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{},"finish_reason":""}]}`), ok: &answered{text: "Hello", reason: "stop"}},
		"finish reason unknown":         {reply: stream(hello, llmtest.Delta("", "sated")), ok: &answered{text: "Hello", reason: "stop"}},
		"length":                        {reply: stream(hello, llmtest.Delta("", "length"), used), ok: &answered{"Hello", "length", counts}},
		"length and no text":            {reply: stream(llmtest.Delta("", "length"), used), err: &refused{class: llm.Final, code: task.AnswerIncomplete, message: "limit of tokens", partial: counts}},
		"content filter":                {reply: stream(hello, llmtest.Delta("", "content_filter")), err: &refused{class: llm.Final, code: task.ContentFiltered}},
		"sensitive":                     {reply: stream(hello, llmtest.Delta("", "sensitive")), err: &refused{class: llm.Final, code: task.ContentFiltered}},
		"refusal": {
			reply: stream(`{"choices":[{"delta":{"refusal":"I will "}}]}`, `{"choices":[{"delta":{"refusal":"not."}}]}`, stop),
			err:   &refused{class: llm.Final, code: task.ContentFiltered, message: "I will not."},
		},
		"last line without its end": {reply: sse("data: " + hello + "\n\ndata: " + stop), ok: &answered{text: "Hello", reason: "stop"}},
		"chunks without choices or delta": {
			reply: stream(`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, hello, `{"choices":[{"index":0}]}`, stop), ok: &answered{text: "Hello", reason: "stop"},
		},
		"content null and a list": {
			reply: stream(`{"choices":[{"delta":{"content":null}}]}`, `{"choices":[{"delta":{"content":[{"type":"text","text":"Hel"},{"type":"image_url"},{"type":"text","text":"lo"}]}}]}`, stop),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"think tags are left": {reply: stream(llmtest.Delta("<think>x</think>Hello", "stop")), ok: &answered{text: "<think>x</think>Hello", reason: "stop"}},
		"reasoning is no answer": {
			reply: stream(`{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}`, stop, used), err: &refused{class: llm.Retry, code: task.BadResponse, message: "empty", partial: counts},
		},
		"reasoning before an answer": {reply: stream(`{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, hello, stop), ok: &answered{text: "Hello", reason: "stop"}},
		"usage null and absent":      {reply: stream(hello, stop, `{"choices":[],"usage":null}`, `{"choices":[],"usage":{}}`), ok: &answered{text: "Hello", reason: "stop"}},
		"usage of zeros":             {reply: stream(hello, stop, llmtest.UsageEvent(llmtest.Usage{})), ok: &answered{text: "Hello", reason: "stop"}},
		"usage in floats and quotes": {
			reply: stream(hello, stop, `{"choices":[],"usage":{"prompt_tokens":7.0,"completion_tokens":"3","prompt_tokens_details":{"cached_tokens":2.0}}}`), ok: &answered{"Hello", "stop", counts},
		},
		"usage in every chunk": {
			reply: stream(`{"choices":[{"delta":{"content":"Hello"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":2}}`),
			ok:    &answered{"Hello", "stop", counts},
		},
		"fields of wrong types": {
			reply: stream(`{"id":7,"created":"now","model":null,"system_fingerprint":[],"choices":[{"index":"0","delta":{"role":1,"content":"Hello","tool_calls":{}},"logprobs":3,"finish_reason":null}]}`, `{"created":1.5,"model":{},"choices":[{"delta":{"content":{}},"finish_reason":"stop"}]}`),
			ok:    &answered{text: "Hello", reason: "stop"},
		},
		"a line of 2 MiB":                     {reply: stream(llmtest.Delta(long, ""), stop), ok: &answered{text: long, reason: "stop"}},
		"a line that does not end":            {reply: sse("data: " + strings.Repeat(long, 9)), err: &refused{class: llm.Final, code: task.BadResponse, message: "larger than 16 MiB"}},
		"JSON that does not end":              {reply: whole("{" + strings.Repeat(long, 9)), err: &refused{class: llm.Final, code: task.BadResponse, message: "larger than 16 MiB"}},
		"silence in the middle":               {reply: stream(hello, used).Then(llmtest.Silence), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "fell silent", partial: counts}},
		"pings for ever":                      {reply: stream(hello).Then(llmtest.Ping), err: &refused{class: llm.Retry, code: task.AnswerIncomplete, message: "without any text"}},
		"silence after the finish reason":     {reply: stream(hello, stop).Then(llmtest.Silence), ok: &answered{text: "Hello", reason: "stop"}},
		"silence after the end mark":          {reply: stream(hello, stop, "[DONE]").Then(llmtest.Silence), ok: &answered{text: "Hello", reason: "stop"}},
		"pings after the end mark":            {reply: stream(hello, stop, "[DONE]").Then(llmtest.Ping), ok: &answered{text: "Hello", reason: "stop"}},
		"slow but alive":                      {reply: stream("", "", "", hello, "", "", "", stop).Every(600 * time.Millisecond), ok: &answered{text: "Hello", reason: "stop"}},
		"redirect":                            {reply: llmtest.Fail(302, "").With("Location", "https://login.example.com/?next=x"), err: &refused{class: llm.Final, code: task.ModelRefused, message: "login.example.com", status: 302}},
		"prompt too long, 400":                {reply: llmtest.Fail(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","code":400}}`), err: &refused{class: llm.Final, code: task.ContextExceeded, own: "BadRequestError", status: 400}},
		"prompt too long, 500":                {reply: llmtest.Fail(500, `{"error":{"code":500,"message":"too big","type":"exceed_context_size_error"}}`), err: &refused{class: llm.Final, code: task.ContextExceeded, own: "exceed_context_size_error", status: 500}},
		"prompt too long, 413":                {reply: llmtest.Fail(413, page), err: &refused{class: llm.Final, code: task.ContextExceeded, status: 413}},
		"key refused":                         {reply: llmtest.Fail(401, `{"error":{"message":"Incorrect API key provided: `+key+`","type":"invalid_request_error","code":"invalid_api_key"}}`), err: &refused{class: llm.Final, code: task.ModelAuth, message: "Incorrect API key provided: ***", own: "invalid_api_key", status: 401}},
		"content refused":                     {reply: llmtest.Fail(400, `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`), err: &refused{class: llm.Final, code: task.ContentFiltered, own: "content_filter", status: 400}},
		"a chunk that is not JSON":            {reply: stream(hello, `{"choices":[{"delta":`), err: &refused{class: llm.Retry, code: task.BadResponse, message: "not JSON"}},
		"an event that is not JSON":           {reply: stream(hello, "gateway timeout"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "gateway timeout"}},
		"nothing but pings and a good ending": {reply: sse(": ping\n\n: ping\n\n"), err: &refused{class: llm.Retry, code: task.BadResponse, message: "no choices"}},
		"only white space":                    {reply: stream(llmtest.Delta(" \n ", "stop")), err: &refused{class: llm.Retry, code: task.BadResponse, message: "empty"}},
		"a good answer":                       {reply: llmtest.Answer("Hello there, world", llmtest.Usage{Input: 7, Output: 3, Cached: 2}), ok: &answered{"Hello there, world", "stop", counts}},
	}
}
