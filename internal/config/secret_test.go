package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"longhaul/internal/config"
)

func TestSecret_isMasked(t *testing.T) {
	t.Parallel()
	secret := config.NewSecret("hush")
	holder := struct {
		Key  config.Secret
		Keys []config.Key
		Ptr  *config.Secret
	}{secret, []config.Key{{Tenant: "acme", Key: secret}}, &secret}

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb+"\n", secret, holder)
	}
	fmt.Fprintln(&out, fmt.Errorf("why: %w", fmt.Errorf("%v", holder)))
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(handler).Info("m", "key", secret, "ptr", &secret, "holder", holder)
	}
	require.NoError(t, json.NewEncoder(&out).Encode(holder))
	require.NoError(t, json.NewEncoder(&out).Encode(map[string]any{"key": secret}))
	require.NoError(t, yaml.NewEncoder(&out).Encode(holder))

	require.NotContains(t, out.String(), "hush")
	require.NotContains(t, out.String(), "68757368", "in hexadecimal")
	require.Contains(t, out.String(), "[secret]")
	require.Equal(t, "hush", secret.Reveal())
	require.Empty(t, config.Secret{}.String())
}
