package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the example files")

// TestExamples_followTheCode compares the two example files with the fields of Config. After a change of a
// setting, run go test ./internal/config -update
func TestExamples_followTheCode(t *testing.T) {
	for file, want := range map[string]string{".env.example": envExample(), "longhaul.example.yaml": fileExample()} {
		path := filepath.Join("..", "..", file)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s is outdated, run go test ./internal/config -update", file)
	}
}

// TestExamples_areTheDefaults loads both example files, .env.example with every line enabled.
func TestExamples_areTheDefaults(t *testing.T) {
	want, err := Load(Source{Dir: "/x"})
	require.NoError(t, err)

	var env []string
	for line := range strings.Lines(envExample()) {
		if assignment, ok := strings.CutPrefix(strings.TrimSpace(line), "#LONGHAUL_"); ok {
			env = append(env, "LONGHAUL_"+assignment)
		}
	}
	require.Len(t, env, len(settings(&Config{}))+1)
	got, err := Load(Source{Dir: "/x", Env: env})
	require.NoError(t, err)
	require.Equal(t, want, got)

	path := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(path, []byte(fileExample()), 0o600))
	got, err = Load(Source{Dir: "/x", Args: []string{"--config", path}})
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func envExample() string {
	var b strings.Builder
	b.WriteString(`# Every setting with its default. Copy to .env, remove the # from the lines that you change, and
# load it: set -a; . ./.env; set +a
# Settings may also be in longhaul.yaml or be flags. Flags override variables, variables override the file.

# A model provider in two lines, used if LONGHAUL_LLM_BASE_URL and LONGHAUL_LLM_KEY are not set. Without any
# of the four the built-in simulated model answers.
#OPENAI_API_KEY=
#OPENAI_BASE_URL=https://api.openai.com/v1

# The Temporal server: variables of the Temporal SDK. With TEMPORAL_ADDRESS set, make run starts no server.
#TEMPORAL_ADDRESS=127.0.0.1:7233
#TEMPORAL_NAMESPACE=default
#TEMPORAL_API_KEY=
#TEMPORAL_TLS_CLIENT_CERT_PATH=
#TEMPORAL_TLS_CLIENT_KEY_PATH=
#TEMPORAL_TLS_SERVER_CA_CERT_PATH=

# path of the configuration file (optional)
#LONGHAUL_CONFIG=

`)
	for _, k := range settings(&Config{}) {
		fmt.Fprintf(&b, "# %s\n#%s=%s\n\n", k.describe(), k.env(), k.fallback)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func fileExample() string {
	var b strings.Builder
	b.WriteString(`# Every setting with its default. Copy to longhaul.yaml and keep the lines that you change.
# Unknown settings are reported at the start. Keep secrets in environment variables.
`)
	section := ""
	for _, k := range settings(&Config{}) {
		heading, name, nested := strings.Cut(k.key, ".")
		if !nested {
			fmt.Fprintf(&b, "\n# %s\n%s: %s\n", k.describe(), k.key, k.yaml())
			continue
		}
		if heading != section {
			fmt.Fprintf(&b, "\n%s:\n", heading)
			section = heading
		}
		fmt.Fprintf(&b, "  # %s\n  %s: %s\n", k.describe(), name, k.yaml())
	}
	return b.String()
}

func (k setting) describe() string {
	text := k.help
	if len(k.oneOf) > 0 {
		text += " (" + strings.Join(k.oneOf, ", ") + ")"
	}
	if k.least != "" {
		text += " (at least " + k.least + ")"
	}
	return text
}

func (k setting) yaml() string {
	switch k.field.Interface().(type) {
	case []Key:
		return "[] # as [{tenant: name, key: secret}]"
	case []string:
		return "[]"
	case Waits:
		return "[" + k.fallback + "]"
	case []Model:
		return "[] # as [{name: gpt-5-mini, price: {input: 0.25, cached: 0.025, output: 2}, fallbacks: [relay/gpt-5-mini]}]"
	case []Provider:
		return "[] # as [{name: relay, base_url: https://relay.example/v1, key_env: RELAY_KEY, profile: newapi, requests_per_minute: 600, models: []}]"
	case []HTTPTool:
		return "[] # as [{name: weather, description: weather of a city, url: \"https://weather.example/v1/{city}\", parameters: {type: object, properties: {city: {type: string}}}, headers: {Authorization: \"Bearer {{secret:WEATHER}}\"}}]"
	case []MCPServer:
		return "[] # as [{name: files, command: mcp-files, args: [/srv/files]}, {name: wiki, url: https://wiki.example/mcp, headers: {Authorization: \"Bearer {{secret:WIKI}}\"}}]"
	case []ToolSecret:
		return "[] # as [{name: WEATHER, env: WEATHER_KEY, hosts: [weather.example], tenants: [acme]}]"
	case int, float64, bool:
		return k.fallback
	}
	return fmt.Sprintf("%q", k.fallback)
}
