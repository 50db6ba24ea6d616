package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/cluster"
	"longhaul/internal/config"
)

// An error in the configuration of a tool stops the worker at start, also while Temporal cannot be reached.
func TestRunWorker_invalidTool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ tools, want string }{
		"address":       {`{http: [{name: weather, description: d, url: "https://weather.example/{city"}]}`, "weather"},
		"built-in name": {`{http: [{name: calculator, description: d, url: "https://weather.example/"}]}`, "calculator"},
		"secret":        {`{http: [{name: weather, description: d, url: "https://weather.example/", headers: {A: "{{secret:NONE}}"}}]}`, "NONE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "longhaul.yaml")
			require.NoError(t, os.WriteFile(file, []byte("tools: "+test.tools), 0o600))
			cfg, err := config.Load(config.Source{Args: []string{"--config", file, "--data-dir", t.TempDir()}})
			require.NoError(t, err)
			a, err := Open(t.Context(), cfg, cluster.Options{Address: "127.0.0.1:1"})
			require.NoError(t, err)
			t.Cleanup(a.Close)
			require.ErrorContains(t, RunWorker(t.Context(), a), test.want)
		})
	}
}
