package openai_test

import (
	"fmt"
	"strings"
	"time"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// manners are the errors of the providers that have a profile, as each of them writes them.
func manners() map[string]robust {
	cases := map[string]robust{}
	for profile, rows := range map[string][]manner{
		"openai": openaiManners, "azure": azureManners, "deepseek": deepseekManners, "kimi": kimiManners, "glm": glmManners,
		"dashscope": dashscopeManners, "ark": arkManners, "newapi": newapiManners, "litellm": litellmManners,
		"vllm": vllmManners, "ollama": ollamaManners, "openrouter": openrouterManners, "generic": genericManners,
	} {
		for _, m := range rows {
			cases[fmt.Sprintf("%s %d %s", profile, m.status, m.what)] = m.robust(profile)
		}
	}
	return cases
}

// manner is one error of a provider: how it comes, and what it means.
type manner struct {
	status int // 200 is an error in a stream that has begun
	what   string
	body   string
	class  llm.Class
	code   task.Code
	after  time.Duration
	tries  int
}

func (m manner) robust(profile string) robust {
	reply := llmtest.Fail(m.status, m.body)
	if m.status == 200 {
		reply = stream(hello, m.body)
	}
	return robust{
		profile: profile, reply: reply.With("Date", "Sun, 29 Nov 2026 10:00:00 GMT"),
		err: &refused{class: m.class, code: m.code, own: m.own(), status: m.status, after: m.after, tries: m.tries},
	}
}

// own is the provider's code in a body as these tables write it: the code, or the type where the code
// is null or a status.
func (m manner) own() string {
	for _, name := range []string{"code", "type"} {
		_, rest, found := strings.Cut(m.body, `"`+name+`":"`)
		if word, _, _ := strings.Cut(rest, `"`); found && word != "None" && !strings.HasPrefix(word, "4") {
			return word
		}
	}
	return ""
}

// fault is a body as OpenAI writes one.
func fault(kind, code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
}

var openaiManners = []manner{
	{429, "rate limit of requests", fault("requests", "rate_limit_exceeded", "Rate limit reached for requests. Please try again in 6m0s."), llm.Wait, task.RateLimited, 6 * time.Minute, 0},
	{429, "rate limit of tokens", fault("tokens", "rate_limit_exceeded", "Limit 30000, Used 29000. Please try again in 1.5s."), llm.Wait, task.RateLimited, 1500 * time.Millisecond, 0},
	{429, "slow down", fault("rate_limit_error", "slow_down", "Slow down"), llm.Wait, task.RateLimited, 0, 0},
	{503, "slow down", fault("rate_limit_error", "slow_down", "Slow down"), llm.Wait, task.RateLimited, 0, 0},
	{503, "overloaded", fault("service_unavailable_error", "server_is_overloaded", "Overloaded"), llm.Retry, task.ModelUnavailable, 0, 0},
	{500, "server error", fault("server_error", "internal_error", "Sorry"), llm.Retry, task.ModelUnavailable, 0, 0},
	{429, "quota", fault("insufficient_quota", "insufficient_quota", "You exceeded your current quota"), llm.Final, task.ModelQuota, 0, 0},
	{429, "credit", fault("insufficient_quota", "credit_balance_exhausted", "No credit"), llm.Final, task.ModelQuota, 0, 0},
	{429, "spend limit of the organization", fault("insufficient_quota", "organization_spend_limit_exceeded", "x"), llm.Final, task.ModelQuota, 0, 0},
	{429, "spend limit of the project", fault("insufficient_quota", "project_spend_limit_exceeded", "x"), llm.Final, task.ModelQuota, 0, 0},
	{429, "usage limit", fault("insufficient_quota", "organization_usage_limit_exceeded", "x"), llm.Final, task.ModelQuota, 0, 0},
	{429, "quota by its type alone", `{"error":{"message":"x","type":"insufficient_quota","param":null,"code":null}}`, llm.Final, task.ModelQuota, 0, 0},
	{400, "prompt too long", fault("invalid_request_error", "context_length_exceeded", "Too long"), llm.Final, task.ContextExceeded, 0, 0},
	{400, "bad request", fault("invalid_request_error", "unknown_parameter", "Unknown parameter: 'foo'"), llm.Final, task.ModelRefused, 0, 0},
	{404, "no such model", fault("invalid_request_error", "model_not_found", "The model 'x' does not exist"), llm.Final, task.ModelUnknown, 0, 0},
	{401, "bad key", fault("invalid_request_error", "invalid_api_key", "Incorrect key"), llm.Final, task.ModelAuth, 0, 0},
	{403, "region", fault("request_forbidden", "unsupported_country_region_territory", "Not here"), llm.Final, task.ModelAuth, 0, 0},
	{422, "unprocessable", fault("invalid_request_error", "x", "No"), llm.Final, task.ModelRefused, 0, 0},
	{400, "content policy", fault("invalid_request_error", "content_policy_violation", "No"), llm.Final, task.ContentFiltered, 0, 0},
	{400, "invalid prompt", fault("invalid_request_error", "invalid_prompt", "No"), llm.Final, task.ContentFiltered, 0, 0},
	{400, "image policy", fault("invalid_request_error", "image_content_policy_violation", "No"), llm.Final, task.ContentFiltered, 0, 0},
	{400, "biology", fault("invalid_request_error", "bio_policy", "No"), llm.Final, task.ContentFiltered, 0, 0},
	{408, "timeout", "", llm.Retry, task.ModelUnavailable, 0, 0},
	{409, "conflict", "", llm.Retry, task.ModelUnavailable, 0, 0},
}

var azureManners = []manner{
	{400, "content filter", `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.Final, task.ContentFiltered, 0, 0},
	{429, "rate limit", `{"error":{"code":"429","message":"Requests have exceeded the limit. Please retry after 26 seconds."}}`, llm.Wait, task.RateLimited, 26 * time.Second, 0},
}

var deepseekManners = []manner{
	{402, "no balance", fault("unknown_error", "invalid_request_error", "Insufficient Balance"), llm.Final, task.ModelQuota, 0, 0},
	{422, "bad parameter", fault("invalid_request_error", "invalid_request_error", "Bad value"), llm.Final, task.ModelRefused, 0, 0},
	{400, "bad request", fault("invalid_request_error", "invalid_request_error", "This response_format type is unavailable now"), llm.Final, task.ModelRefused, 0, 0},
	{429, "rate limit", fault("rate_limit", "rate_limit_reached", "Too fast"), llm.Wait, task.RateLimited, 0, 0},
	{500, "server error", "", llm.Retry, task.ModelUnavailable, 0, 0},
	{503, "overloaded", fault("service_unavailable_error", "service_unavailable", "Busy"), llm.Retry, task.ModelUnavailable, 0, 0},
}

var kimiManners = []manner{
	{400, "content filter", `{"error":{"message":"high risk","type":"content_filter"}}`, llm.Final, task.ContentFiltered, 0, 0},
	{429, "overloaded", `{"error":{"message":"The engine is overloaded","type":"engine_overloaded_error"}}`, llm.Wait, task.RateLimited, 0, 0},
	{429, "rate limit", `{"error":{"message":"max RPM: 3, please try again after 1 seconds","type":"rate_limit_reached_error"}}`, llm.Wait, task.RateLimited, time.Second, 0},
	{429, "quota", `{"error":{"message":"check your plan","type":"exceeded_current_quota_error"}}`, llm.Final, task.ModelQuota, 0, 0},
	{403, "no balance", `{"error":{"message":"Your account balance is not enough","type":"permission_denied_error"}}`, llm.Final, task.ModelQuota, 0, 0},
	{402, "membership", `{"error":{"message":"membership expired","type":"membership_error"}}`, llm.Final, task.ModelQuota, 0, 0},
}

// glm is a body as GLM writes one: everything is a 429, and the code tells.
func glm(code, message string) string {
	return fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message)
}

var glmManners = []manner{
	{429, "1113 no money", glm("1113", "您的账户已欠费，请充值后重试"), llm.Final, task.ModelQuota, 0, 0},
	{429, "1302 too many at a time", glm("1302", "您当前使用该API的并发数过高"), llm.Wait, task.RateLimited, 0, 0},
	{429, "1303 too many a minute", glm("1303", "您当前使用该API的频率过高"), llm.Wait, task.RateLimited, 0, 0},
	{429, "1305 overloaded", glm("1305", "当前API请求过多，请稍后重试"), llm.Wait, task.RateLimited, 0, 0},
	{429, "1312 overloaded", glm("1312", "该模型当前访问量过大"), llm.Wait, task.RateLimited, 0, 0},
	{429, "1308 used up until a time", glm("1308", "已达到使用上限，您的限额将在 2026-11-29 20:30:00 重置"), llm.Wait, task.RateLimited, 150 * time.Minute, 0},
	{429, "1310 used up until a time", glm("1310", "Weekly limit exhausted. Your limit will reset at 2026-11-30 18:00:00"), llm.Wait, task.RateLimited, 24 * time.Hour, 0},
	{429, "1308 without a time", glm("1308", "used up"), llm.Wait, task.RateLimited, time.Hour, 0},
	{400, "1301 content", glm("1301", "系统检测到输入或生成内容可能包含不安全或敏感内容"), llm.Final, task.ContentFiltered, 0, 0},
	{400, "1261 prompt too long", glm("1261", "Prompt 超长"), llm.Final, task.ContextExceeded, 0, 0},
	{400, "1211 no such model", glm("1211", "模型不存在，请检查模型代码"), llm.Final, task.ModelUnknown, 0, 0},
	{200, "1302 in a stream", glm("1302", "并发数过高"), llm.Wait, task.RateLimited, 0, 0},
	{434, "no permission", glm("434", "无权限"), llm.Final, task.ModelRefused, 0, 0},
	{435, "too large a file", glm("435", "文件过大"), llm.Final, task.ModelRefused, 0, 0},
}

var dashscopeManners = []manner{
	{429, "throttling of requests", `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded","request_id":"x"}`, llm.Wait, task.RateLimited, time.Minute, 0},
	{429, "limit_requests", fault("limit_requests", "limit_requests", "You exceeded your current requests list"), llm.Wait, task.RateLimited, time.Minute, 0},
	{429, "throttling of tokens", `{"code":"Throttling.AllocationQuota","message":"Allocated quota exceeded","request_id":"x"}`, llm.Wait, task.RateLimited, time.Minute, 0},
	{429, "insufficient_quota is a throttle", fault("insufficient_quota", "insufficient_quota", "You exceeded your current quota"), llm.Wait, task.RateLimited, time.Minute, 0},
	{403, "free tier used up", fault("AllocationQuota.FreeTierOnly", "AllocationQuota.FreeTierOnly", "The free tier of the model has been exhausted."), llm.Final, task.ModelQuota, 0, 0},
	{403, "free tier used up, by its message", fault("insufficient_quota", "insufficient_quota", "The free tier of the model has been exhausted."), llm.Final, task.ModelQuota, 0, 0},
	{429, "free quota used up", fault("insufficient_quota", "insufficient_quota", "Free quota exhausted"), llm.Final, task.ModelQuota, 0, 0},
	{400, "arrears", fault("Arrearage", "Arrearage", "Access denied, your account is in arrears"), llm.Final, task.ModelQuota, 0, 0},
	{400, "content", fault("data_inspection_failed", "DataInspectionFailed", "Inappropriate content"), llm.Final, task.ContentFiltered, 0, 0},
	{400, "thinking without a stream", fault("invalid_request_error", "invalid_parameter_error", "parameter.enable_thinking must be set to false for non-streaming calls"), llm.Final, task.ModelRefused, 0, 0},
}

var arkManners = []manner{
	{403, "overdue", fault("Forbidden", "AccountOverdueError", "The request failed because your account has an overdue balance."), llm.Final, task.ModelQuota, 0, 0},
	{403, "access denied", fault("Forbidden", "AccessDenied", "You do not have access"), llm.Final, task.ModelAuth, 0, 0},
	{404, "no such endpoint", fault("NotFound", "InvalidEndpointOrModel.NotFound", "ep-1 does not exist"), llm.Final, task.ModelUnknown, 0, 0},
	{404, "model not opened", fault("NotFound", "ModelNotOpen", "Your account has not activated it"), llm.Final, task.ModelUnknown, 0, 0},
	{400, "endpoint closed for the moment", fault("BadRequest", "InvalidEndpoint.ClosedEndpoint", "closed or temporarily unavailable"), llm.Retry, task.ModelUnavailable, 0, 0},
	{400, "risk in the prompt", fault("BadRequest", "InputTextRiskDetection", "risk"), llm.Final, task.ContentFiltered, 0, 0},
	{400, "sensitive answer", fault("BadRequest", "OutputTextSensitiveContentDetected", "sensitive"), llm.Final, task.ContentFiltered, 0, 0},
	{400, "sensitive, in detail", fault("BadRequest", "SensitiveContentDetected.SevereViolation", "sensitive"), llm.Final, task.ContentFiltered, 0, 0},
	{429, "rate limit", fault("TooManyRequests", "RateLimitExceeded.EndpointRPMExceeded", "RPM limit"), llm.Wait, task.RateLimited, 0, 0},
	{429, "overloaded", fault("TooManyRequests", "ServerOverloaded", "busy"), llm.Wait, task.RateLimited, 0, 0},
	{429, "quota", fault("TooManyRequests", "QuotaExceeded", "quota"), llm.Wait, task.RateLimited, 10 * time.Minute, 0},
}

var newapiManners = []manner{
	{503, "no channel", fault("new_api_error", "model_not_found", "No available channel for model x under group default"), llm.Retry, task.ModelUnknown, 0, 2},
	{403, "no credit", fault("new_api_error", "insufficient_user_quota", "user quota is not enough"), llm.Final, task.ModelQuota, 0, 0},
	{403, "no credit to set aside", fault("new_api_error", "pre_consume_token_quota_failed", "token quota is not enough"), llm.Final, task.ModelQuota, 0, 0},
	{429, "upstream's rate limit", fault("new_api_error", "rate_limit_exceeded", "上游负载已饱和，请 30 秒后重试"), llm.Wait, task.RateLimited, 30 * time.Second, 0},
	{500, "upstream's error", fault("one_api_error", "do_request_failed", "upstream error"), llm.Retry, task.ModelUnavailable, 0, 0},
	{200, "upstream's error in a stream", fault("one_api_error", "insufficient_user_quota", "x"), llm.Final, task.ModelQuota, 0, 0},
}

var litellmManners = []manner{
	{429, "no deployments", `{"error":{"message":"No deployments available for selected model, Try again in 60 seconds.","type":"None","param":"None","code":"429"}}`, llm.Wait, task.RateLimited, time.Minute, 0},
	{400, "budget", `{"error":{"message":"Budget has been exceeded!","type":"budget_exceeded","param":null,"code":"400"}}`, llm.Final, task.ModelQuota, 0, 0},
	{400, "prompt too long", `{"error":{"message":"litellm.ContextWindowExceededError: too big","type":null,"param":null,"code":"400"}}`, llm.Final, task.ContextExceeded, 0, 0},
	{400, "content", `{"error":{"message":"litellm.ContentPolicyViolationError: no","type":"None","param":"None","code":"400"}}`, llm.Final, task.ContentFiltered, 0, 0},
}

var vllmManners = []manner{
	{400, "bad request", `{"error":{"message":"bad","type":"BadRequestError","param":null,"code":400}}`, llm.Final, task.ModelRefused, 0, 0},
	{400, "bad request, before 0.10.1", `{"object":"error","message":"bad","type":"BadRequestError","param":null,"code":400}`, llm.Final, task.ModelRefused, 0, 0},
	{400, "prompt too long", `{"error":{"message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","param":null,"code":400}}`, llm.Final, task.ContextExceeded, 0, 0},
	{404, "no such model", "{\"error\":{\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"param\":\"model\",\"code\":404}}", llm.Final, task.ModelUnknown, 0, 0},
	{500, "engine is dead", `{"error":{"message":"EngineCore encountered an issue","type":"InternalServerError","param":null,"code":500}}`, llm.Retry, task.ModelUnavailable, 0, 0},
	{200, "bad request in a stream", `{"error":{"message":"bad","type":"BadRequestError","param":null,"code":400}}`, llm.Final, task.ModelRefused, 0, 0},
}

var ollamaManners = []manner{
	{404, "no such model", `{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}`, llm.Final, task.ModelUnknown, 0, 0},
	{404, "no such model, older", `{"error":"model 'x' not found, try pulling it first"}`, llm.Final, task.ModelUnknown, 0, 0},
	{400, "tools", `{"error":{"message":"x does not support tools","type":"api_error","param":null,"code":null}}`, llm.Final, task.ModelRefused, 0, 0},
}

var openrouterManners = []manner{
	{402, "no credit", `{"error":{"code":402,"message":"Insufficient credits"}}`, llm.Final, task.ModelQuota, 0, 0},
	{403, "moderation", `{"error":{"code":403,"message":"Input was flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}`, llm.Final, task.ContentFiltered, 0, 0},
	{403, "limit of the key", `{"error":{"code":403,"message":"Key limit exceeded (total limit)"}}`, llm.Final, task.ModelQuota, 0, 0},
	{408, "timeout", `{"error":{"code":408,"message":"timed out"}}`, llm.Retry, task.ModelUnavailable, 0, 0},
	{502, "provider down", `{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"boom"}}}`, llm.Retry, task.ModelUnavailable, 0, 0},
	{503, "no provider", `{"error":{"code":503,"message":"No provider"}}`, llm.Retry, task.ModelUnavailable, 0, 0},
	{200, "provider down, in a chunk", `{"id":"x","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"Provider disconnected"}}`, llm.Retry, task.ModelUnavailable, 0, 0},
	{200, "rate limit, in a chunk", `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"error"}],"error":{"code":429,"message":"Rate limit exceeded"}}`, llm.Wait, task.RateLimited, 0, 0},
	{200, "moderation, in a chunk", `{"choices":[],"error":{"code":403,"message":"flagged"}}`, llm.Final, task.ContentFiltered, 0, 0},
}

var genericManners = []manner{
	{529, "overloaded", `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Retry, task.ModelUnavailable, 0, 0},
	{503, "llama.cpp is loading", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.Retry, task.ModelUnavailable, 0, 0},
	{400, "llama.cpp, prompt too long", `{"error":{"code":400,"message":"the request exceeds it","type":"exceed_context_size_error"}}`, llm.Final, task.ContextExceeded, 0, 0},
	{500, "llama.cpp, prompt too long", `{"error":{"code":500,"message":"the request exceeds it","type":"exceed_context_size_error"}}`, llm.Final, task.ContextExceeded, 0, 0},
	{200, "llama.cpp, prompt too long", `{"error":{"code":400,"message":"the request exceeds it","type":"exceed_context_size_error"}}`, llm.Final, task.ContextExceeded, 0, 0},
	{425, "too early", "", llm.Retry, task.ModelUnavailable, 0, 0},
	{418, "a status of no meaning", "", llm.Final, task.ModelRefused, 0, 0},
	{403, "forbidden", `{"error":{"message":"no"}}`, llm.Final, task.ModelAuth, 0, 0},
}
