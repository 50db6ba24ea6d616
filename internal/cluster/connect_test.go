package cluster

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettings_comeFromTheTemporalVariables(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", t.TempDir()+"/none.toml")
	clear := func() {
		for _, name := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_API_KEY"} {
			t.Setenv(name, "")
		}
	}
	t.Run("none", func(t *testing.T) {
		clear()
		got, err := settings(Options{})
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1:7233", got.HostPort)
		require.Equal(t, "default", got.Namespace)
		require.Nil(t, got.ConnectionOptions.TLS)
	})
	t.Run("cloud", func(t *testing.T) {
		t.Setenv("TEMPORAL_ADDRESS", "cloud.example:7233")
		t.Setenv("TEMPORAL_NAMESPACE", "tasks.acme")
		t.Setenv("TEMPORAL_API_KEY", "hush")
		got, err := settings(Options{})
		require.NoError(t, err)
		require.Equal(t, "cloud.example:7233", got.HostPort)
		require.Equal(t, "tasks.acme", got.Namespace)
		require.NotNil(t, got.ConnectionOptions.TLS, "an API key is only sent over TLS")
		require.NotNil(t, got.Credentials)
	})
	t.Run("an explicit address overrides TEMPORAL_*", func(t *testing.T) {
		t.Setenv("TEMPORAL_ADDRESS", "cloud.example:7233")
		t.Setenv("TEMPORAL_API_KEY", "hush")
		got, err := settings(Options{Address: "127.0.0.1:1"})
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1:1", got.HostPort)
		require.Nil(t, got.Credentials)
	})
}

func TestWait_saysWhatItWaitsForAndStopsWithItsContext(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c, err := Connect(Options{Address: "127.0.0.1:1", Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err, "connecting does not need a server")
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = c.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "Temporal at 127.0.0.1:1, namespace default")
	require.Contains(t, log.String(), "waiting for Temporal")
}
