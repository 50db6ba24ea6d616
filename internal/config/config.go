package config

import "time"

// Config is what longhaul can be told. Load fills every field, so none needs a default in the code
// that reads it.
type Config struct {
	DataDir       string `knob:"data_dir" default:"./data" help:"folder for what is kept on this machine: the bucket, and the database of make run"`
	BucketURL     string `knob:"bucket_url" default:"" help:"where files, answers and results are: s3://name?region=..., file:///folder, mem://; empty means the folder bucket in data_dir"`
	TemporalUIURL string `knob:"temporal_ui_url" default:"" help:"address of the Temporal Web UI, for links to it; empty means no links"`
	Metrics       bool   `knob:"metrics" default:"true" help:"numbers for Prometheus under /metrics, at the API and at worker.listen; they name no tenant and no task"`

	API    API    `knob:"api"`
	Worker Worker `knob:"worker"`
	LLM    LLM    `knob:"llm"`
	Video  Video  `knob:"video"`
	Fetch  Fetch  `knob:"fetch"`
	Tools  Tools  `knob:"tools"`
	Notify Notify `knob:"notify"`
	SMTP   SMTP   `knob:"smtp"`
	Log    Log    `knob:"log"`
}

// API is for the HTTP API alone.
type API struct {
	Listen       string        `knob:"listen" default:"127.0.0.1:8080" help:"address and port; with no keys it must be a loopback address"`
	Keys         []Key         `knob:"keys" default:"" help:"who may use the API, as tenant:key,tenant2:key2; a tenant may have several keys; none means one tenant, no login, loopback only"`
	PublicURL    string        `knob:"public_url" default:"" help:"address under which the world reaches this API: messages and mails point there, and providers of videos tell of changes there; empty means that messages hold paths only, and providers are not asked to"`
	StalledAfter time.Duration `knob:"stalled_after" default:"10m" min:"1s" help:"how long nothing may move in a task before it says that it stalled, and what it waits for"`
	MaxBody      Bytes         `knob:"max_body" default:"8MiB" min:"1KiB" help:"largest JSON body of a request"`
	MaxUpload    Bytes         `knob:"max_upload" default:"512MiB" min:"1KiB" help:"largest file that can be uploaded"`
	Heartbeat    time.Duration `knob:"heartbeat" default:"15s" min:"100ms" help:"time between two signs of life of a stream of events; proxies cut streams that are silent for longer than they like"`
}

// Key lets whoever knows it act as a tenant.
type Key struct {
	Tenant string
	Key    Secret
}

// Worker is for the workers alone.
type Worker struct {
	Listen               string        `knob:"listen" default:"" help:"address and port where a worker says under /healthz whether it can work, under /readyz whether it does, and under /metrics how much; empty means nowhere"`
	LLMConcurrency       int           `knob:"llm_concurrency" default:"50" min:"1" help:"model calls at a time, in one worker"`
	DocumentsConcurrency int           `knob:"documents_concurrency" default:"4" min:"1" help:"documents fetched or read at a time, in one worker"`
	ToolsConcurrency     int           `knob:"tools_concurrency" default:"20" min:"1" help:"tool calls of agents at a time, in one worker"`
	CutOffAfter          time.Duration `knob:"cut_off_after" default:"30s" min:"100ms" help:"how long a step may go on after it was cancelled or its time is up, before its slot is taken back"`
	StopTimeout          time.Duration `knob:"stop_timeout" default:"20s" min:"1s" help:"how long calls in hand may go on when a worker is asked to stop"`
	Deployment           string        `knob:"deployment" default:"" help:"name of the Worker Deployment that this worker is a version of; empty means that its tasks may go on on any worker"`
	BuildID              string        `knob:"build_id" default:"" help:"which version it is, such as 1.4.0; must be set with deployment, and only with it"`
}

// LLM is the model providers: the first, which needs no more than a key, and any others.
type LLM struct {
	Provider          string        `knob:"provider" default:"" help:"name of the provider in errors and logs; empty means the host of base_url"`
	BaseURL           string        `knob:"base_url" default:"" help:"address of an OpenAI-compatible API, up to and with /v1; empty means OpenAI's if there is a key, and the built-in simulated model if not"`
	Key               Secret        `knob:"key" default:"" help:"API key of the provider; with neither key nor base_url set, OPENAI_API_KEY and OPENAI_BASE_URL are used"`
	Model             string        `knob:"model" default:"" help:"model for tasks that name none; empty means gpt-5-mini"`
	EmbeddingModel    string        `knob:"embedding_model" default:"text-embedding-3-small" help:"model that turns texts into vectors, for finding passages"`
	Profile           string        `knob:"profile" default:"" help:"whose habits to expect: openai, azure, deepseek, kimi, glm, dashscope, ark, newapi, litellm, openrouter, vllm, ollama or generic; empty means that of the address, and generic where it is not known"`
	Timeout           time.Duration `knob:"timeout" default:"30m" min:"1s" help:"longest that one call may take, at any provider"`
	IdleTimeout       time.Duration `knob:"idle_timeout" default:"2m" min:"1s" help:"longest silence within one call, at any provider"`
	RequestsPerMinute int           `knob:"requests_per_minute" default:"0" min:"0" help:"calls a minute that the key may make, over all workers; 0 means no limit"`
	TokensPerMinute   int           `knob:"tokens_per_minute" default:"0" min:"0" help:"tokens a minute that the key may use, over all workers; 0 means no limit"`
	Models            []Model       `knob:"models" default:"" help:"what is known of the provider's models: prices of a million tokens, and the models that stand in for one when its provider is down or out of quota"`
	Providers         []Provider    `knob:"providers" default:"" help:"more providers; a task's model is asked of the provider that lists it, or that its name begins with, as in relay/some-model, and of the first otherwise"`
	Currency          string        `knob:"currency" default:"USD" help:"currency of all prices"`
	ChunkTokens       int           `knob:"chunk_tokens" default:"3000" min:"200" help:"largest piece of a document in one call, in tokens"`
	ContextTokens     int           `knob:"context_tokens" default:"100000" min:"4000" help:"longest conversation of an agent, in tokens; before it grows longer, its older part is summed up"`
	MaxAttempts       int           `knob:"max_attempts" default:"6" min:"1" help:"calls made for one answer before giving up; waiting for a rate limit does not count"`
}

// Provider is one model provider among several.
type Provider struct {
	Name              string  `knob:"name" default:"" help:"what it is called in errors, logs and models' names"`
	BaseURL           string  `knob:"base_url" default:"" help:"address up to and with /v1"`
	Key               Secret  `knob:"key" default:"" help:"API key"`
	KeyEnv            string  `knob:"key_env" default:"" help:"variable that holds the API key, instead of key"`
	Profile           string  `knob:"profile" default:"" help:"as in llm.profile"`
	Concurrency       int     `knob:"concurrency" default:"0" min:"0" help:"calls at a time, in one worker; 0 means worker.llm_concurrency"`
	RequestsPerMinute int     `knob:"requests_per_minute" default:"0" min:"0" help:"as in llm.requests_per_minute"`
	TokensPerMinute   int     `knob:"tokens_per_minute" default:"0" min:"0" help:"as in llm.tokens_per_minute"`
	Models            []Model `knob:"models" default:"" help:"as in llm.models"`
}

// Model is what is known of one model.
type Model struct {
	Name      string `knob:"name" default:"" help:"what tasks call it"`
	As        string `knob:"as" default:"" help:"what the provider calls it; empty means the same"`
	Price     *Price `knob:"price" default:"" help:"of a million tokens; empty means not known"`
	Fallbacks Names  `knob:"fallbacks" default:"" help:"models that stand in for it, in order"`
}

// Names are names: of models, hosts, tenants, variables.
type Names []string

// Price is what a million tokens cost.
type Price struct {
	Input, Cached, Output float64
}

// All are the providers, the first first. Where nothing was said about the first, it is the first of the others.
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

// Simulated reports whether the built-in model answers, because no provider was given.
func (l LLM) Simulated() bool { return l.BaseURL == "" && len(l.Providers) == 0 }

// Video is the provider that renders videos.
type Video struct {
	Provider       string        `knob:"provider" default:"" help:"name of the provider in errors and logs; empty means the host of base_url"`
	BaseURL        string        `knob:"base_url" default:"" help:"address with the version in its path, such as https://ark.cn-beijing.volces.com/api/v3; empty means the built-in renderer, which sends a short sample film"`
	Key            Secret        `knob:"key" default:"" help:"API key of the provider"`
	KeyEnv         string        `knob:"key_env" default:"" help:"variable that holds the API key, instead of key"`
	Dialect        string        `knob:"dialect" default:"" help:"how the provider speaks: ark, newapi, openrouter, videos or xai; empty means that of the address, and videos where it is not known"`
	Profile        string        `knob:"profile" default:"" help:"what its errors mean, as in llm.profile; empty means that of the dialect"`
	Model          string        `knob:"model" default:"" help:"model for tasks that name none; must be set with base_url"`
	Concurrency    int           `knob:"concurrency" default:"20" min:"1" help:"calls about videos and downloads at a time, in one worker"`
	Timeout        time.Duration `knob:"timeout" default:"2h" min:"1s" help:"longest that one job may take at the provider"`
	PricePerSecond float64       `knob:"price_per_second" default:"0" help:"of a rendered second, in llm.currency; 0 means not known"`
	PricePerJob    float64       `knob:"price_per_job" default:"0" help:"of each video, beside its seconds, in llm.currency; 0 means none"`
	MaxBytes       Bytes         `knob:"max_bytes" default:"512MiB" min:"1KiB" help:"largest video"`
}

// Priced reports whether it is known what a video costs.
func (v Video) Priced() bool { return v.PricePerSecond+v.PricePerJob > 0 }

// Simulated reports whether videos are drawn by the built-in renderer, because no provider was given.
func (v Video) Simulated() bool { return v.BaseURL == "" }

// Fetch is for documents that are given as a URL.
type Fetch struct {
	AllowPrivate []string      `knob:"allow_private" default:"" help:"what may be fetched although it is not public: a network (10.1.0.0/16), a host, or host:port"`
	MaxBytes     Bytes         `knob:"max_bytes" default:"256MiB" min:"1KiB" help:"largest document"`
	Timeout      time.Duration `knob:"timeout" default:"5m" min:"1s" help:"longest that one document may take"`
}

// Tools is what the tools of agents may reach.
type Tools struct {
	HTTP         []HTTPTool   `knob:"http" default:"" help:"tools that are a call to an address, for tasks to name"`
	MCP          []MCPServer  `knob:"mcp" default:"" help:"servers that speak MCP, for tasks to name; each is a command to start or the url of a streamable HTTP endpoint"`
	Secrets      []ToolSecret `knob:"secrets" default:"" help:"what headers of tools may refer to as {{secret:NAME}}, and the only hosts that it is sent to"`
	AllowPrivate []string     `knob:"allow_private" default:"" help:"what tools may call although it is not public, MCP servers included: a network (10.1.0.0/16), a host, or host:port"`
}

// HTTPTool is a tool that is a call to an address.
type HTTPTool struct {
	Name        string        `knob:"name" default:"" help:"what tasks and models call it"`
	Description string        `knob:"description" default:"" help:"what it is good for, for the model"`
	Parameters  Object        `knob:"parameters" default:"" help:"a JSON Schema of its arguments; without one it takes none"`
	Method      string        `knob:"method" default:"GET" oneof:"GET HEAD POST PUT PATCH DELETE" help:"method of the request"`
	URL         string        `knob:"url" default:"" help:"the address; {name} is replaced by that argument, and what is left goes into the query or a JSON body"`
	Headers     Headers       `knob:"headers" default:"" help:"headers to send"`
	Approval    string        `knob:"approval" default:"policy" oneof:"always never policy" help:"whether a person must approve each call; a task can make it stricter, and never less strict than always"`
	Timeout     time.Duration `knob:"timeout" default:"1m" min:"1s" help:"longest that a call may take"`
}

// MCPServer is a server that speaks MCP: a command or an address.
type MCPServer struct {
	Name     string        `knob:"name" default:"" help:"what tasks call it, and what the names of its tools begin with"`
	Command  string        `knob:"command" default:"" help:"program to start, which speaks MCP over its standard input and output"`
	Args     Names         `knob:"args" default:"" help:"arguments of the program"`
	Env      Names         `knob:"env" default:"" help:"names of the variables that the program may see, besides PATH, HOME and TMPDIR"`
	URL      string        `knob:"url" default:"" help:"address of a streamable HTTP endpoint, instead of a command"`
	Headers  Headers       `knob:"headers" default:"" help:"headers to send to the url"`
	Approval string        `knob:"approval" default:"policy" oneof:"always never policy" help:"as in tools.http"`
	Timeout  time.Duration `knob:"timeout" default:"2m" min:"1s" help:"longest that a call may take"`
}

// ToolSecret is a text that headers of tools may refer to.
type ToolSecret struct {
	Name    string `knob:"name" default:"" help:"what headers call it"`
	Value   Secret `knob:"value" default:"" help:"the secret itself"`
	Env     string `knob:"env" default:"" help:"variable that holds the secret, instead of value"`
	Hosts   Names  `knob:"hosts" default:"" help:"host or host:port, the only ones that it is sent to, over https or where allow_private names them"`
	Tenants Names  `knob:"tenants" default:"" help:"whose tasks may use it; empty means everybody's"`
}

// Headers are headers of a request, by their names.
type Headers map[string]string

// Object is a JSON object that is not ours.
type Object map[string]any

// Notify is for telling others how tasks go.
type Notify struct {
	Concurrency  int           `knob:"concurrency" default:"50" min:"1" help:"webhooks and mails sent at a time, in one worker"`
	Timeout      time.Duration `knob:"timeout" default:"15s" min:"1s" help:"longest that one attempt may take; at most a minute"`
	Retries      Waits         `knob:"retries" default:"5s, 5m, 30m, 2h, 5h, 10h, 10h" help:"how long to wait after each attempt that failed, before a message is given up"`
	AllowPrivate []string      `knob:"allow_private" default:"" help:"what webhooks may call although it is not public: a network (10.1.0.0/16), a host, or host:port"`
	AlertEvery   time.Duration `knob:"alert_every" default:"15m" min:"1s" help:"how often a registered mailbox is told of failed tasks at the most; what fails meanwhile is told together"`
}

// Waits are spans of time, one after the other.
type Waits []time.Duration

// SMTP is the server that mails are handed to.
type SMTP struct {
	Host      string `knob:"host" default:"" help:"mail server; empty means that no mails are sent"`
	Port      int    `knob:"port" default:"587" min:"1" help:"its port"`
	User      string `knob:"user" default:"" help:"user to log in as; empty means no login"`
	Password  Secret `knob:"password" default:"" help:"password of the user"`
	From      string `knob:"from" default:"" help:"mailbox that mails come from; must be set with host"`
	TLS       string `knob:"tls" default:"starttls" oneof:"starttls tls none" help:"how the connection is encrypted; without encryption nothing is to be logged in with, but on this machine"`
	PerMinute int    `knob:"per_minute" default:"60" min:"1" help:"mails a minute, from one worker"`
}

// Log is how the programs tell what they do.
type Log struct {
	Level  string `knob:"level" default:"info" oneof:"debug info warn error" help:"least important lines to write"`
	Format string `knob:"format" default:"text" oneof:"text json" help:"how a line is written"`
}
