package workflowtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/activities"
	"longhaul/internal/video/videotest"
	"longhaul/internal/video/wire"
)

// UseVideos lets a scripted provider render the videos.
func (b *Bench) UseVideos(dialect string, options videotest.Options) *videotest.Provider {
	provider := videotest.New(b.T, options)
	client, err := wire.New(wire.Config{Name: "scripted", BaseURL: provider.URL(dialect), Dialect: dialect, Key: "sk-secret", IdleTimeout: 5 * time.Second})
	require.NoError(b.T, err)
	b.Parts.Renderer = activities.Renderer{
		Name: "scripted", Provider: client, Lane: OpenGate{}, Model: "test-video", Timeout: time.Minute, Doubt: time.Millisecond,
		Every: time.Millisecond, PerSecond: 0.5, PerJob: 0.25, Currency: "USD",
	}
	return provider
}
