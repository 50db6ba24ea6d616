package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"longhaul/activities"
	"longhaul/internal/lane"
	"longhaul/internal/video"
	"longhaul/internal/video/simulated"
	"longhaul/internal/video/wire"
)

// How long one call to the provider of videos may take, and how long a job is polled at the least apart.
const (
	videoCall  = time.Minute
	videoEvery = 2 * time.Second
)

// videos makes the means to render videos, and their lane. Where no provider is configured, the built-in one sends sample films; call end
// when no more are rendered.
func (a *App) videos(ctx context.Context) (renderer activities.Renderer, door gate, end func(), err error) {
	cfg := a.Config.Video
	end, every := func() {}, videoEvery
	if cfg.Simulated() {
		cfg.Dialect, cfg.Model, every = "ark", simulated.Model, time.Second/2
		if cfg.BaseURL, end, err = simulated.Start(context.WithoutCancel(ctx), simulated.Options{}); err != nil {
			return renderer, door, nil, fmt.Errorf("start the simulated renderer: %w", err)
		}
		a.Log.Info("no provider of videos is configured: the built-in renderer sends sample films")
	}
	client, err := wire.New(wire.Config{
		Name: cfg.Provider, BaseURL: cfg.BaseURL, Key: cfg.Key.Reveal(), Dialect: cfg.Dialect, Profile: cfg.Profile,
		Timeout: videoCall, MaxBytes: int64(cfg.MaxBytes), AllowPrivate: a.Config.Fetch.AllowPrivate,
	})
	if err != nil {
		end()
		return renderer, door, nil, fmt.Errorf("provider of videos: %w", err)
	}
	queue := lane.New(lane.Limits{Concurrency: cfg.Concurrency})
	renderer = activities.Renderer{
		Name: cfg.Provider, Provider: client, Lane: queue, Model: cfg.Model,
		Timeout: cfg.Timeout, Doubt: videoCall + video.Appears, Every: every, Callbacks: strings.TrimRight(a.Config.API.PublicURL, "/"),
		PerSecond: cfg.PricePerSecond, PerJob: cfg.PricePerJob, Currency: a.Config.LLM.Currency,
	}
	return renderer, gate{renderer.LaneName(), queue}, end, nil
}
