package openai

import (
	"time"

	"longhaul/internal/llm"
)

// beijing is the zone of what providers there write into messages.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// profiles is every provider that is known by name. What they share is in exact and in byStatus: a rule
// stands here only where a provider means something else by a word, or has words of its own.
var profiles = map[string]Profile{
	"generic": {Name: "generic", Format: JSONSchema},

	"openai": {
		Name: "openai", Hosts: []string{"api.openai.com"},
		LimitField: "max_completion_tokens", Format: JSONSchema, LimitsPer: time.Minute,
		Embeds: llm.EmbedLimits{Inputs: 2048, Tokens: 300_000}, Base64: true,
	},
	"azure": {
		Name: "azure", Hosts: []string{"openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"},
		LimitField: "max_completion_tokens", Format: JSONSchema, LimitsPer: time.Minute,
		Embeds: llm.EmbedLimits{Inputs: 2048, Tokens: 300_000}, Base64: true,
	},
	"deepseek": {Name: "deepseek", Hosts: []string{"api.deepseek.com"}, LimitField: "max_tokens", Format: JSONObject, Thoughts: true},
	"kimi":     {Name: "kimi", Hosts: []string{"api.moonshot.cn", "api.moonshot.ai"}, LimitField: "max_tokens", Format: JSONObject, Thoughts: true},
	"glm": {
		Name: "glm", Hosts: []string{"open.bigmodel.cn", "api.z.ai"},
		LimitField: "max_tokens", Format: JSONObject, Zone: beijing, Thoughts: true,
		Embeds: llm.EmbedLimits{Inputs: 64},
		Rules: []rule{
			{word: "1113", means: noMoney},
			{word: "1211", means: noModel},
			{word: "1261", means: tooLong},
			{word: "1301", means: badContent},
			{word: "1302", means: slowDown}, // too many calls at a time
			{word: "1303", means: slowDown}, // too many calls a minute
			{word: "1305", means: slowDown},
			{word: "1312", means: slowDown},
			{word: "1308", means: slowDown.after(time.Hour)}, // used up until a time that the message gives
			{word: "1310", means: slowDown.after(time.Hour)},
		},
	},
	"dashscope": {
		Name: "dashscope", Hosts: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"},
		LimitField: "max_tokens", Format: JSONObject, Wait: time.Minute,
		Embeds: llm.EmbedLimits{Inputs: 10},
		Rules: []rule{
			{word: "*freetieronly", means: noMoney},
			{says: "free tier", means: noMoney},
			{says: "free quota", means: noMoney},
			{word: "insufficient_quota", means: slowDown}, // tokens a minute, whatever it is called
			{word: "limit_requests", means: slowDown},
			{word: "throttling*", means: slowDown},
		},
	},
	"ark": {
		Name: "ark", Hosts: []string{"volces.com", "bytepluses.com"},
		LimitField: "max_tokens", Format: JSONObject,
		Rules: []rule{
			{word: "invalidendpointormodel*", means: noModel},
			{word: "modelnotopen", means: noModel},
			{word: "invalidendpoint.closedendpoint", means: unavailable}, // closed for the moment
			{word: "*riskdetection", means: badContent},
			{word: "*sensitivecontentdetected*", means: badContent},
			{word: "quotaexceeded", means: slowDown.after(10 * time.Minute)},
		},
	},

	"newapi": {
		Name: "newapi", Format: JSONSchema, Estimates: true,
		Rules: []rule{{word: "model_not_found", status: 503, means: maybeNone}},
	},
	"litellm": {
		Name: "litellm", Format: JSONSchema, Estimates: true,
		Rules: []rule{
			{word: "budget_exceeded", means: noMoney},
			{says: "contextwindowexceedederror", means: tooLong},
			{says: "contentpolicyviolationerror", means: badContent},
		},
	},
	"openrouter": {
		Name: "openrouter", Hosts: []string{"openrouter.ai"},
		LimitField: "max_tokens", Format: JSONSchema,
		Rules: []rule{
			{status: 403, says: "limit exceeded", means: noMoney}, // of the key
			{status: 403, means: badContent},
		},
	},

	"vllm":   {Name: "vllm", LimitField: "max_tokens", Format: JSONSchema, Base64: true},
	"ollama": {Name: "ollama", LimitField: "max_tokens", Format: JSONSchema, Base64: true},
}
