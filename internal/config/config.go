package config

import "time"

// Config holds all settings. Load fills every field, so code that reads a field needs no default.
type Config struct {
	DataDir       string `key:"data_dir" default:"./data" help:"folder for local data: the bucket, and the database of make run"`
	BucketURL     string `key:"bucket_url" default:"" help:"bucket for files, answers and results: s3://name?region=..., file:///folder, mem://; empty means the folder bucket in data_dir"`
	TemporalUIURL string `key:"temporal_ui_url" default:"" help:"address of the Temporal Web UI, for links to it; empty means no links"`
	Metrics       bool   `key:"metrics" default:"true" help:"metrics for Prometheus under /metrics, at the API and at worker.listen; they contain no tenant or task names"`

	API    API    `key:"api"`
	Worker Worker `key:"worker"`
	LLM    LLM    `key:"llm"`
	Video  Video  `key:"video"`
	Fetch  Fetch  `key:"fetch"`
	Tools  Tools  `key:"tools"`
	Notify Notify `key:"notify"`
	SMTP   SMTP   `key:"smtp"`
	Log    Log    `key:"log"`
}

// API configures the HTTP API.
type API struct {
	Listen       string        `key:"listen" default:"127.0.0.1:8080" help:"address and port; without keys it must be a loopback address"`
	Keys         []Key         `key:"keys" default:"" help:"API keys, as tenant:key,tenant2:key2; a tenant may have several keys; empty means one tenant without login, on loopback only"`
	PublicURL    string        `key:"public_url" default:"" help:"public address of this API, for links in messages and mails and for callbacks of video providers; empty means links without host and no callbacks"`
	StalledAfter time.Duration `key:"stalled_after" default:"10m" min:"1s" help:"time without progress after which a task is reported as stalled, with the reason"`
	MaxBody      Bytes         `key:"max_body" default:"8MiB" min:"1KiB" help:"largest JSON body of a request"`
	MaxUpload    Bytes         `key:"max_upload" default:"512MiB" min:"1KiB" help:"largest file that can be uploaded"`
	Heartbeat    time.Duration `key:"heartbeat" default:"15s" min:"100ms" help:"interval of keep-alive messages in event streams; proxies close silent streams"`
}

// Key is an API key of a tenant.
type Key struct {
	Tenant string
	Key    Secret
}

// Worker configures the workers.
type Worker struct {
	Listen               string        `key:"listen" default:"" help:"address and port of a worker's /healthz, /readyz and /metrics; empty means none"`
	LLMConcurrency       int           `key:"llm_concurrency" default:"50" min:"1" help:"concurrent model calls per worker"`
	DocumentsConcurrency int           `key:"documents_concurrency" default:"4" min:"1" help:"concurrent document fetches and extractions per worker"`
	ToolsConcurrency     int           `key:"tools_concurrency" default:"20" min:"1" help:"concurrent tool calls of agents per worker"`
	CutOffAfter          time.Duration `key:"cut_off_after" default:"30s" min:"100ms" help:"time for a step to return after its cancellation or timeout, before its slot is freed"`
	StopTimeout          time.Duration `key:"stop_timeout" default:"20s" min:"1s" help:"time for running calls to finish when a worker stops"`
	Deployment           string        `key:"deployment" default:"" help:"name of the Temporal Worker Deployment of this worker; empty means that any worker may continue its tasks"`
	BuildID              string        `key:"build_id" default:"" help:"version within the deployment, such as 1.4.0; required with deployment, and only allowed with it"`
}

// LLM configures the model providers: the first provider, for which a key suffices, and additional providers.
type LLM struct {
	Provider          string        `key:"provider" default:"" help:"name of the provider in errors and logs; empty means the host of base_url"`
	BaseURL           string        `key:"base_url" default:"" help:"address of an OpenAI-compatible API, including /v1; empty means OpenAI if a key is set, else the built-in simulated model"`
	Key               Secret        `key:"key" default:"" help:"API key of the provider; with neither key nor base_url set, OPENAI_API_KEY and OPENAI_BASE_URL are used"`
	Model             string        `key:"model" default:"" help:"default model; empty means gpt-5-mini"`
	EmbeddingModel    string        `key:"embedding_model" default:"text-embedding-3-small" help:"embedding model for the search of passages"`
	Profile           string        `key:"profile" default:"" help:"API dialect and errors of the provider: openai, azure, deepseek, kimi, glm, dashscope, ark, newapi, litellm, openrouter, vllm, ollama or generic; empty derives it from the address, else generic"`
	Timeout           time.Duration `key:"timeout" default:"30m" min:"1s" help:"timeout of one call, at any provider"`
	IdleTimeout       time.Duration `key:"idle_timeout" default:"2m" min:"1s" help:"longest time without data within one call, at any provider"`
	RequestsPerMinute int           `key:"requests_per_minute" default:"0" min:"0" help:"calls per minute with the key, over all workers; 0 means no limit"`
	TokensPerMinute   int           `key:"tokens_per_minute" default:"0" min:"0" help:"tokens per minute with the key, over all workers; 0 means no limit"`
	Models            []Model       `key:"models" default:"" help:"models of the provider: prices per million tokens, and fallback models for when the provider is down or out of quota"`
	Providers         []Provider    `key:"providers" default:"" help:"additional providers; a model is requested from the provider that lists it or that prefixes its name, as in relay/some-model, else from the first provider"`
	Currency          string        `key:"currency" default:"USD" help:"currency of all prices"`
	ChunkTokens       int           `key:"chunk_tokens" default:"3000" min:"200" help:"largest chunk of a document in one call, in tokens"`
	ContextTokens     int           `key:"context_tokens" default:"100000" min:"4000" help:"longest conversation of an agent, in tokens; beyond it, the older part is summarized"`
	MaxAttempts       int           `key:"max_attempts" default:"6" min:"1" help:"attempts per answer; waiting for a rate limit does not count"`
}

// Provider is an additional model provider.
type Provider struct {
	Name              string  `key:"name" default:"" help:"name of the provider in errors, logs and model names"`
	BaseURL           string  `key:"base_url" default:"" help:"address including /v1"`
	Key               Secret  `key:"key" default:"" help:"API key"`
	KeyEnv            string  `key:"key_env" default:"" help:"environment variable with the API key, instead of key"`
	Profile           string  `key:"profile" default:"" help:"as in llm.profile"`
	Concurrency       int     `key:"concurrency" default:"0" min:"0" help:"concurrent calls per worker; 0 means worker.llm_concurrency"`
	RequestsPerMinute int     `key:"requests_per_minute" default:"0" min:"0" help:"as in llm.requests_per_minute"`
	TokensPerMinute   int     `key:"tokens_per_minute" default:"0" min:"0" help:"as in llm.tokens_per_minute"`
	Models            []Model `key:"models" default:"" help:"as in llm.models"`
}

// Model configures a model.
type Model struct {
	Name      string `key:"name" default:"" help:"name used by tasks"`
	As        string `key:"as" default:"" help:"name used by the provider; empty means the same name"`
	Price     *Price `key:"price" default:"" help:"prices per million tokens; empty means unknown"`
	Fallbacks Names  `key:"fallbacks" default:"" help:"fallback models, in order"`
}

// Names lists names of models, hosts, tenants or variables.
type Names []string

// Price is the price of a million tokens.
type Price struct {
	Input, Cached, Output float64
}

// All returns all providers in order. The provider of the fields of LLM comes first; it is omitted if it is not
// configured and there are additional providers.
func (l LLM) All() []Provider {
	if l.BaseURL == "" && len(l.Providers) > 0 {
		return l.Providers
	}
	first := Provider{
		Name: l.Provider, BaseURL: l.BaseURL, Key: l.Key, Profile: l.Profile,
		RequestsPerMinute: l.RequestsPerMinute, TokensPerMinute: l.TokensPerMinute, Models: l.Models,
	}
	return append([]Provider{first}, l.Providers...)
}

// Simulated reports whether no provider is configured, so that the built-in model answers.
func (l LLM) Simulated() bool { return l.BaseURL == "" && len(l.Providers) == 0 }

// Video configures the video provider.
type Video struct {
	Provider       string        `key:"provider" default:"" help:"name of the provider in errors and logs; empty means the host of base_url"`
	BaseURL        string        `key:"base_url" default:"" help:"address including the version in its path, such as https://ark.cn-beijing.volces.com/api/v3; empty means the built-in renderer, which sends a short sample video"`
	Key            Secret        `key:"key" default:"" help:"API key of the provider"`
	KeyEnv         string        `key:"key_env" default:"" help:"environment variable with the API key, instead of key"`
	Dialect        string        `key:"dialect" default:"" help:"API dialect: ark, newapi, openrouter, videos or xai; empty derives it from the address, else videos"`
	Profile        string        `key:"profile" default:"" help:"error profile of the provider, as in llm.profile; empty derives it from the dialect"`
	Model          string        `key:"model" default:"" help:"default model; required with base_url"`
	Concurrency    int           `key:"concurrency" default:"20" min:"1" help:"concurrent video calls and downloads per worker"`
	Timeout        time.Duration `key:"timeout" default:"2h" min:"1s" help:"timeout of one job at the provider"`
	PricePerSecond float64       `key:"price_per_second" default:"0" help:"price of a rendered second, in llm.currency; 0 means unknown"`
	PricePerJob    float64       `key:"price_per_job" default:"0" help:"price of a video in addition to its seconds, in llm.currency; 0 means none"`
	MaxBytes       Bytes         `key:"max_bytes" default:"512MiB" min:"1KiB" help:"largest video"`
}

// Priced reports whether the price of a video is known.
func (v Video) Priced() bool { return v.PricePerSecond+v.PricePerJob > 0 }

// Simulated reports whether no provider is configured, so that the built-in renderer draws videos.
func (v Video) Simulated() bool { return v.BaseURL == "" }

// Fetch configures the download of documents.
type Fetch struct {
	AllowPrivate []string      `key:"allow_private" default:"" help:"private addresses that may be fetched: a network (10.1.0.0/16), a host, or host:port"`
	MaxBytes     Bytes         `key:"max_bytes" default:"256MiB" min:"1KiB" help:"largest document"`
	Timeout      time.Duration `key:"timeout" default:"5m" min:"1s" help:"timeout of one document"`
}

// Tools configures the tools of agents.
type Tools struct {
	HTTP         []HTTPTool   `key:"http" default:"" help:"HTTP tools that tasks may use by name"`
	MCP          []MCPServer  `key:"mcp" default:"" help:"MCP servers that tasks may use by name; each is a command to start or the URL of a streamable HTTP endpoint"`
	Secrets      []ToolSecret `key:"secrets" default:"" help:"secrets for tool headers, written as {{secret:NAME}}, each limited to certain hosts"`
	AllowPrivate []string     `key:"allow_private" default:"" help:"private addresses that tools and MCP servers may use: a network (10.1.0.0/16), a host, or host:port"`
}

// HTTPTool is a tool that sends an HTTP request.
type HTTPTool struct {
	Name        string        `key:"name" default:"" help:"name used by tasks and models"`
	Description string        `key:"description" default:"" help:"purpose of the tool, for the model"`
	Parameters  Object        `key:"parameters" default:"" help:"JSON Schema of the arguments; empty means no arguments"`
	Method      string        `key:"method" default:"GET" oneof:"GET HEAD POST PUT PATCH DELETE" help:"method of the request"`
	URL         string        `key:"url" default:"" help:"address; {name} is replaced by the argument, other arguments go into the query or a JSON body"`
	Headers     Headers       `key:"headers" default:"" help:"headers to send"`
	Approval    string        `key:"approval" default:"policy" oneof:"always never policy" help:"whether a person must approve each call; a task may be stricter, but cannot override always"`
	Timeout     time.Duration `key:"timeout" default:"1m" min:"1s" help:"timeout of a call"`
}

// MCPServer is an MCP server: a command or a URL.
type MCPServer struct {
	Name     string        `key:"name" default:"" help:"name used by tasks, and prefix of the names of its tools"`
	Command  string        `key:"command" default:"" help:"program to start, with MCP over standard input and output"`
	Args     Names         `key:"args" default:"" help:"arguments of the program"`
	Env      Names         `key:"env" default:"" help:"names of the environment variables passed to the program, besides PATH, HOME and TMPDIR"`
	URL      string        `key:"url" default:"" help:"address of a streamable HTTP endpoint, instead of a command"`
	Headers  Headers       `key:"headers" default:"" help:"headers to send to the url"`
	Approval string        `key:"approval" default:"policy" oneof:"always never policy" help:"as in tools.http"`
	Timeout  time.Duration `key:"timeout" default:"2m" min:"1s" help:"timeout of a call"`
}

// ToolSecret is a secret for tool headers.
type ToolSecret struct {
	Name    string `key:"name" default:"" help:"name used in headers"`
	Value   Secret `key:"value" default:"" help:"value of the secret"`
	Env     string `key:"env" default:"" help:"environment variable with the secret, instead of value"`
	Hosts   Names  `key:"hosts" default:"" help:"hosts (host or host:port) that may receive the secret, over https or as listed in allow_private"`
	Tenants Names  `key:"tenants" default:"" help:"tenants whose tasks may use the secret; empty means all tenants"`
}

// Headers are request headers by name.
type Headers map[string]string

// Object is a JSON object with arbitrary content.
type Object map[string]any

// Notify configures webhooks and mails about tasks.
type Notify struct {
	Concurrency  int           `key:"concurrency" default:"50" min:"1" help:"concurrent webhook and mail deliveries per worker"`
	Timeout      time.Duration `key:"timeout" default:"15s" min:"1s" help:"timeout of one attempt; at most 1m"`
	Retries      Waits         `key:"retries" default:"5s, 5m, 30m, 2h, 5h, 10h, 10h" help:"delays after failed attempts; after the last attempt the message fails"`
	AllowPrivate []string      `key:"allow_private" default:"" help:"private addresses that webhooks may use: a network (10.1.0.0/16), a host, or host:port"`
	AlertEvery   time.Duration `key:"alert_every" default:"15m" min:"1s" help:"shortest interval of mails about failed tasks to a registered mailbox; failures in between are sent together"`
}

// Waits is a sequence of delays.
type Waits []time.Duration

// SMTP configures the mail server.
type SMTP struct {
	Host      string `key:"host" default:"" help:"mail server; empty means no mails"`
	Port      int    `key:"port" default:"587" min:"1" help:"port of the mail server"`
	User      string `key:"user" default:"" help:"user to log in as; empty means no login"`
	Password  Secret `key:"password" default:"" help:"password of the user"`
	From      string `key:"from" default:"" help:"sender address of mails; required with host"`
	TLS       string `key:"tls" default:"starttls" oneof:"starttls tls none" help:"encryption of the connection; a login without encryption is only allowed on loopback"`
	PerMinute int    `key:"per_minute" default:"60" min:"1" help:"mails per minute and worker"`
}

// Log configures logging.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"debug info warn error" help:"lowest level of log lines"`
	Format string `key:"format" default:"text" oneof:"text json" help:"format of log lines"`
}
