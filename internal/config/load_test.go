package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"longhaul/internal/config"
)

func TestLoad_defaults(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.Load(config.Source{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "data"), cfg.DataDir)
	require.Equal(t, "file://"+filepath.Join(dir, "data", "bucket"), cfg.BucketURL)
	require.Equal(t, "127.0.0.1:8080", cfg.API.Listen)
	require.Equal(t, config.Bytes(8<<20), cfg.API.MaxBody)
	require.Equal(t, 30*time.Minute, cfg.LLM.Timeout)
	require.True(t, cfg.LLM.Simulated())
	require.Equal(t, "simulated", cfg.LLM.Provider)
}

func TestLoad_precedence(t *testing.T) {
	file := "llm:\n  max_attempts: 2\n  chunk_tokens: 1000\n  timeout: 1m\n"
	tests := map[string]struct {
		args, env []string
		want      int
	}{
		"file":                      {want: 2},
		"variable":                  {env: []string{"LONGHAUL_LLM_MAX_ATTEMPTS=3"}, want: 3},
		"flag":                      {env: []string{"LONGHAUL_LLM_MAX_ATTEMPTS=3"}, args: []string{"--llm-max-attempts", "4"}, want: 4},
		"empty variable is ignored": {env: []string{"LONGHAUL_LLM_MAX_ATTEMPTS="}, want: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Load(config.Source{Dir: folder(t, file), Args: test.args, Env: test.env})
			require.NoError(t, err)
			require.Equal(t, test.want, cfg.LLM.MaxAttempts)
			require.Equal(t, 1000, cfg.LLM.ChunkTokens)
			require.Equal(t, time.Minute, cfg.LLM.Timeout)
		})
	}
}

func TestLoad_reportsAllErrors(t *testing.T) {
	dir := folder(t, "llm:\n  modle: x\n  chunk_tokens: 10\nfetch:\n  allow_private: [10.0.0.0/99]\nlog: {level: loud}\n")
	_, err := config.Load(config.Source{
		Dir: dir, Args: []string{"--worker-stop-timeout", "soon"},
		Env: []string{"LONGHAUL_API_MAX_BODY=big", "LONGHAUL_API_LISTEN=0.0.0.0:80", "LONGHAUL_LLM_BASE_URL=ftp://x", "LONGHAUL_LLM_MODLE=x"},
	})
	require.ErrorContains(t, err, "9 error(s)")
	for _, want := range []string{
		`longhaul.yaml: unknown setting "llm.modle"; did you mean "llm.model"?`,
		`unknown variable "LONGHAUL_LLM_MODLE"; did you mean "LONGHAUL_LLM_MODEL"?`,
		`--worker-stop-timeout: "soon" is not a time span; write it like 30s or 5m`,
		`LONGHAUL_API_MAX_BODY: "big" is not a size; write it like 64MiB`,
		`llm.chunk_tokens: 10 is too small, the minimum is 200`,
		`fetch.allow_private: "10.0.0.0/99" is not a network`,
		`log.level: "loud" is not one of debug, info, warn, error`,
		`api.listen: 0.0.0.0:80 is reachable from other machines`,
		`llm.base_url: must be an http or https address`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestLoad_file(t *testing.T) {
	t.Run("named and missing", func(t *testing.T) {
		_, err := config.Load(config.Source{Dir: t.TempDir(), Args: []string{"--config", "other.yaml"}})
		require.ErrorContains(t, err, "other.yaml")
	})
	t.Run("named by variable", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "other.yaml"), []byte("log: {format: json}"), 0o600))
		cfg, err := config.Load(config.Source{Dir: dir, Env: []string{"LONGHAUL_CONFIG=other.yaml"}})
		require.NoError(t, err)
		require.Equal(t, "json", cfg.Log.Format)
	})
	t.Run("broken", func(t *testing.T) {
		_, err := config.Load(config.Source{Dir: folder(t, "llm: [")})
		require.ErrorContains(t, err, "read the configuration file")
	})
}

func TestLoad_keys(t *testing.T) {
	inFile := "api:\n  keys:\n    - {tenant: acme, key: hush-1}\n    - {tenant: beta, key: hush-2}\n"
	for name, src := range map[string]config.Source{
		"file":     {Dir: folder(t, inFile)},
		"variable": {Dir: t.TempDir(), Env: []string{"LONGHAUL_API_KEYS=acme:hush-1, beta:hush-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			src.Args = []string{"--api-listen", ":8080"}
			cfg, err := config.Load(src)
			require.NoError(t, err)
			require.Len(t, cfg.API.Keys, 2)
			require.Equal(t, "acme", cfg.API.Keys[0].Tenant)
			require.Equal(t, "hush-2", cfg.API.Keys[1].Key.Reveal())
		})
	}
}

func TestLoad_invalidKeysAreNotShown(t *testing.T) {
	for name, keys := range map[string]string{
		"no tenant":  "hush-marker",
		"bad tenant": "hush marker:hush-marker",
		"no key":     "acme:",
		"same key":   "acme:hush-marker,beta:hush-marker",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(config.Source{Dir: t.TempDir(), Env: []string{"LONGHAUL_API_KEYS=" + keys}})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hush")
		})
	}
}

func TestLoad_listensBeyondLoopbackOnlyWithKeys(t *testing.T) {
	for listen, ok := range map[string]bool{
		"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, "127.9.9.9:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "192.168.1.5:1": false, "example.com:1": false, "127.0.0.1": false,
	} {
		t.Run(listen, func(t *testing.T) {
			_, err := config.Load(config.Source{Dir: t.TempDir(), Args: []string{"--api-listen", listen}})
			require.Equal(t, ok, err == nil, "%v", err)
		})
	}
}

func TestLoad_provider(t *testing.T) {
	tests := map[string]struct {
		env                  []string
		url, key, model, who string
	}{
		"none": {nil, "", "", "gpt-5-mini", "simulated"},
		"OpenAI's key": {
			[]string{"OPENAI_API_KEY=a"},
			"https://api.openai.com/v1", "a", "gpt-5-mini", "api.openai.com",
		},
		"OpenAI's variables, another's address": {
			[]string{"OPENAI_API_KEY=a", "OPENAI_BASE_URL=https://models.example/v1/", "LONGHAUL_LLM_MODEL=m"},
			"https://models.example/v1", "a", "m", "models.example",
		},
		"our own": {
			[]string{"LONGHAUL_LLM_KEY=b", "LONGHAUL_LLM_BASE_URL=http://127.0.0.1:9/v1", "LONGHAUL_LLM_PROVIDER=local"},
			"http://127.0.0.1:9/v1", "b", "gpt-5-mini", "local",
		},
		"a key is not sent to an address that was set without it": {
			[]string{"OPENAI_API_KEY=a", "LONGHAUL_LLM_BASE_URL=http://127.0.0.1:9/v1"},
			"http://127.0.0.1:9/v1", "", "gpt-5-mini", "127.0.0.1:9",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Load(config.Source{Dir: t.TempDir(), Env: test.env})
			require.NoError(t, err)
			llm := cfg.LLM
			require.Equal(t, []string{test.url, test.key, test.model, test.who},
				[]string{llm.BaseURL, llm.Key.Reveal(), llm.Model, llm.Provider})
		})
	}
}

func TestLoad_addressesWithPasswordsAreRefused(t *testing.T) {
	_, err := config.Load(config.Source{Dir: t.TempDir(), Env: []string{"LONGHAUL_LLM_BASE_URL=https://me:hush@models.example/v1"}})
	require.ErrorContains(t, err, "llm.base_url")
	require.NotContains(t, err.Error(), "hush")
}

func TestLoad_programsOwnFlags(t *testing.T) {
	var help bytes.Buffer
	flags := pflag.NewFlagSet("dev", pflag.ContinueOnError)
	flags.SetOutput(&help)
	port := flags.Int("temporal-port", 7233, "")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "data" {
			name = "data-dir"
		}
		return pflag.NormalizedName(name)
	})
	cfg, err := config.Load(config.Source{Flags: flags, Args: []string{"--temporal-port=1", "--data", "/tmp/x"}})
	require.NoError(t, err)
	require.Equal(t, 1, *port)
	require.Equal(t, "/tmp/x", cfg.DataDir)
}

func TestLoad_noFlagsForSecrets(t *testing.T) {
	var help bytes.Buffer
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	flags.SetOutput(&help)
	_, err := config.Load(config.Source{Flags: flags, Args: []string{"--help"}})
	require.ErrorIs(t, err, pflag.ErrHelp)
	require.Contains(t, help.String(), "--llm-base-url")
	require.NotContains(t, help.String(), "--llm-key")
	require.NotContains(t, help.String(), "--api-keys")
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]config.Bytes{
		"1KiB": 1 << 10, "64MiB": 64 << 20, "1.5gib": 3 << 29, "200 KB": 200_000, "12": 12, "12B": 12, "1TB": 1e12,
	} {
		cfg, err := config.Load(config.Source{Dir: t.TempDir(), Env: []string{"LONGHAUL_API_MAX_BODY=" + text}})
		if want < 1024 {
			require.ErrorContains(t, err, "LONGHAUL_API_MAX_BODY: "+want.String()+" is too small, the minimum is 1KiB")
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, cfg.API.MaxBody, text)
	}
	require.Equal(t, "1536MiB", config.Bytes(3<<29).String())
	require.Equal(t, "0B", config.Bytes(0).String())
}

func folder(t *testing.T, file string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "longhaul.yaml"), []byte(file), 0o600))
	return dir
}

func TestLoad_providers(t *testing.T) {
	file := `
llm:
  base_url: https://one.example/v1
  models:
    - {name: small, price: {input: 0.25, output: 2}, fallbacks: [Large]}
  providers:
    - name: two
      base_url: https://two.example/v1/
      key_env: TWO_KEY
      requests_per_minute: 60
      models: [{name: Large, as: large-2026, price: {input: 1, cached: 0.1, output: 4}}]
`
	cfg, err := config.Load(config.Source{Dir: folder(t, file), Env: []string{"TWO_KEY=hush"}})
	require.NoError(t, err)
	all := cfg.LLM.All()
	require.Len(t, all, 2)
	require.Equal(t, "one.example", all[0].Name)
	require.Equal(t, []config.Model{{Name: "small", Price: &config.Price{Input: 0.25, Cached: 0.25, Output: 2}, Fallbacks: config.Names{"Large"}}}, all[0].Models)
	require.Equal(t, "https://two.example/v1", all[1].BaseURL)
	require.Equal(t, "hush", all[1].Key.Reveal())
	require.Equal(t, 60, all[1].RequestsPerMinute)
	require.Equal(t, config.Model{Name: "Large", As: "large-2026", Price: &config.Price{Input: 1, Cached: 0.1, Output: 4}}, all[1].Models[0])

	cfg, err = config.Load(config.Source{Dir: t.TempDir(), Env: []string{`LONGHAUL_LLM_PROVIDERS=[{"name":"only","base_url":"http://127.0.0.1:9/v1","concurrency":3,"tokens_per_minute":1000000}]`}})
	require.NoError(t, err)
	require.Len(t, cfg.LLM.All(), 1, "the first provider is not configured")
	require.Equal(t, 3, cfg.LLM.All()[0].Concurrency)
	require.Equal(t, 1_000_000, cfg.LLM.All()[0].TokensPerMinute)
}

func TestLoad_invalidProviders(t *testing.T) {
	for list, want := range map[string]string{
		`[{base_url: "https://x.example"}]`:            "llm.providers: entry 1: name: must have 1 to 40 lower-case letters",
		`[{name: a/b, base_url: "https://x.example"}]`: "entry 1: name: must have 1 to 40 lower-case letters",
		`[{name: a}]`: "entry 1: base_url: must be set",
		`[{name: a, base_url: "https://me:hush@x.example"}]`:                                    "entry 1: base_url: must not contain",
		`[{name: a, base_url: "https://x.example", key_env: NONE}]`:                             "entry 1: key_env: the variable NONE is not set",
		`[{name: a, base_url: "https://x.example"}, {name: a, base_url: "https://y.ex"}]`:       "entry 2: name: a is already used",
		`[{name: a, base_ulr: "https://x.example"}]`:                                            `unknown setting "base_ulr"; did you mean "base_url"?`,
		`[{name: a, base_url: "https://x.example", concurrency: many}]`:                         `concurrency: "many" is not a whole number`,
		`[{name: a, base_url: "https://x.example", models: [{name: m, price: 3}]}]`:             "price: must be a map",
		`[{name: a, base_url: "https://x.example", models: [{name: m, price: {in: 3}}]}]`:       `unknown price "in"`,
		`[{name: a, base_url: "https://x.example", models: [{name: m, price: {input: .nan}}]}]`: "input: NaN is not a price",
		`[{name: a, base_url: "https://x.example", models: [{as: m}]}]`:                         "models entry 1: name: must be set",
		`[just-a-name]`: "must be a map of settings",
		`[{name: a, base_url: "https://x.example", models: [{name: m}, {name: m}]}]`:         "name: m is already used",
		`[{name: a, base_url: "https://x.example", models: [{name: m, price: {input: 1}}]}]`: "price: needs input and output",
		`[{name: a, base_url: "https://x.example", concurrency: -1}]`:                        "concurrency: -1 is too small",
	} {
		_, err := config.Load(config.Source{Dir: folder(t, "llm:\n  providers: "+list+"\n")})
		require.ErrorContains(t, err, want, list)
		require.NotContains(t, err.Error(), "hush")
	}
}

func TestLoad_tools(t *testing.T) {
	file := `
tools:
  allow_private: [127.0.0.1:9000]
  http:
    - name: weather
      description: weather of a city
      url: https://weather.example/v1/{cityName}
      parameters:
        type: object
        properties: {cityName: {type: string}}
        required: [cityName]
      headers: {X-Key: "{{secret:WEATHER}}"}
      timeout: 5s
  mcp:
    - {name: files, command: mcp-files, args: ["--root", "/srv/a, b"], env: [FILES_MODE], approval: never}
    - {name: wiki, url: "https://wiki.example/mcp"}
  secrets:
    - {name: WEATHER, env: WEATHER_KEY, hosts: [weather.example], tenants: [acme]}
`
	cfg, err := config.Load(config.Source{Dir: folder(t, file), Env: []string{"WEATHER_KEY=hush-hush"}})
	require.NoError(t, err)
	require.Equal(t, []config.HTTPTool{{
		Name: "weather", Description: "weather of a city", Method: "GET", URL: "https://weather.example/v1/{cityName}",
		Parameters: config.Object{
			"type": "object", "required": []any{"cityName"}, "properties": map[string]any{"cityName": map[string]any{"type": "string"}},
		},
		Headers: config.Headers{"X-Key": "{{secret:WEATHER}}"}, Approval: "policy", Timeout: 5 * time.Second,
	}}, cfg.Tools.HTTP)
	require.Equal(t, config.MCPServer{
		Name: "files", Command: "mcp-files", Args: config.Names{"--root", "/srv/a, b"}, Env: config.Names{"FILES_MODE"}, Approval: "never", Timeout: 2 * time.Minute,
	}, cfg.Tools.MCP[0])
	require.Equal(t, "hush-hush", cfg.Tools.Secrets[0].Value.Reveal())
	require.Equal(t, config.Names{"acme"}, cfg.Tools.Secrets[0].Tenants)
	require.Equal(t, []string{"127.0.0.1:9000"}, cfg.Tools.AllowPrivate)

	cfg, err = config.Load(config.Source{Dir: t.TempDir(), Env: []string{`LONGHAUL_TOOLS_HTTP=[{"name":"a","description":"d","url":"https://x.example","parameters":{"properties":{"userId":{}}}}]`}})
	require.NoError(t, err)
	require.Contains(t, cfg.Tools.HTTP[0].Parameters["properties"], "userId")
}

func TestLoad_invalidTools(t *testing.T) {
	for list, want := range map[string]string{
		`http: [{name: a b, description: d, url: "https://x.example"}]`:                                               "tools.http: entry 1: name: must have 1 to 64 letters",
		`http: [{name: a, url: "https://x.example"}]`:                                                                 "description: must be set",
		`http: [{name: a, description: d}]`:                                                                           "url: must be set",
		`http: [{name: a, description: d, url: u}, {name: a, description: d, url: u}]`:                                "entry 2: name: a is already used",
		`http: [{name: a, description: d, url: u, method: TRACE}]`:                                                    `method: "TRACE" is not one of GET, HEAD`,
		`http: [{name: a, description: d, url: u, approval: maybe}]`:                                                  `approval: "maybe" is not one of always, never, policy`,
		`http: [{name: a, description: d, url: u, parameters: text}]`:                                                 "parameters: must be a map",
		`http: [{name: a, description: d, url: u, parameters: {properties: {1: x}, maximum: .inf}}]`:                  "must be valid as JSON",
		`http: [{name: a, description: d, url: u, headers: [x]}]`:                                                     "headers: must be a map",
		`http: [{name: a, description: d, url: u, timeout: 1ms}]`:                                                     "timeout: 1ms is too small",
		`http: [{name: a, descripton: d, url: u}]`:                                                                    `did you mean "description"`,
		`mcp: [{name: a__b, command: c}]`:                                                                             "tools.mcp: entry 1: name: must have 1 to 32 letters",
		`mcp: [{name: a}]`:                                                                                            "must have either command or url",
		`mcp: [{name: a, command: c, url: "https://x.example"}]`:                                                      "must have either command or url",
		`mcp: [{name: a, url: "https://me:hush@x.example"}]`:                                                          "url: must not contain",
		`mcp: [{name: a, url: "https://x.example", env: [X]}]`:                                                        "args and env need command",
		`mcp: [{name: a, command: c, headers: {X: hush}}]`:                                                            "headers need url",
		`mcp: [{name: a, command: c}, {name: a, command: c}]`:                                                         "entry 2: name: a is already used",
		`secrets: [{name: a, value: hush, hosts: [x.example]}]`:                                                       "tools.secrets: entry 1: value: must be one line of at least 8",
		`secrets: [{name: a, value: "hush\nhush-hush", hosts: [x.example]}]`:                                          "value: must be one line",
		`secrets: [{name: a, env: NONE, hosts: [x.example]}]`:                                                         "env: the variable NONE is not set",
		`secrets: [{name: a, value: hush-hush}]`:                                                                      "hosts: must list the hosts",
		`secrets: [{name: "", value: hush-hush, hosts: [x.example]}]`:                                                 "name: must have 1 to 64",
		`secrets: [{name: a, value: hush-hush, hosts: [x.example]}, {name: a, value: hush-hush, hosts: [x.example]}]`: "entry 2: name: a is already used",
		`secrets: [{name: a, valeu: hush-hush, hosts: [x.example]}]`:                                                  `did you mean "value"`,
		`allow_private: [10.0.0.0/99]`:                                                                                "is not a network",
	} {
		_, err := config.Load(config.Source{Dir: folder(t, "tools:\n  "+list+"\n")})
		require.ErrorContains(t, err, want, list)
		require.NotContains(t, err.Error(), "hush")
	}
}

func TestLoad_noFlagsForTools(t *testing.T) {
	var help bytes.Buffer
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	flags.SetOutput(&help)
	_, err := config.Load(config.Source{Flags: flags, Args: []string{"--help"}})
	require.ErrorIs(t, err, pflag.ErrHelp)
	require.Contains(t, help.String(), "--tools-allow-private")
	for _, flag := range []string{"--tools-secrets", "--tools-http", "--tools-mcp"} {
		require.NotContains(t, help.String(), flag)
	}
}

func TestLoad_modelsWithoutProvider(t *testing.T) {
	_, err := config.Load(config.Source{Dir: folder(t, "llm:\n  requests_per_minute: 5\n  providers: [{name: a, base_url: \"https://x.example\"}]\n")})
	require.ErrorContains(t, err, "set them under providers")
}
