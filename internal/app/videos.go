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

const (
	videoCallTimeout  = time.Minute     // for one request to the video provider
	videoPollInterval = 2 * time.Second // least time between two polls of a job
)

// videoRenderer creates the client and the lane of the video provider. Without a configured provider a simulated one sends sample films;
// end stops it.
func (a *App) videoRenderer(ctx context.Context) (renderer activities.Renderer, rendererLane providerLane, end func(), err error) {
	cfg := a.Config.Video
	end, interval := func() {}, videoPollInterval
	if cfg.Simulated() {
		cfg.Dialect, cfg.Model, interval = "ark", simulated.Model, time.Second/2
		if cfg.BaseURL, end, err = simulated.Start(context.WithoutCancel(ctx), simulated.Options{}); err != nil {
			return renderer, rendererLane, nil, fmt.Errorf("start the simulated video provider: %w", err)
		}
		a.Log.Info("no video provider is configured, so videos are simulated: every task gets a sample film")
	}
	client, err := wire.New(wire.Config{
		Name: cfg.Provider, BaseURL: cfg.BaseURL, Key: cfg.Key.Reveal(), Dialect: cfg.Dialect, Profile: cfg.Profile,
		Timeout: videoCallTimeout, MaxBytes: int64(cfg.MaxBytes), AllowPrivate: a.Config.Fetch.AllowPrivate,
	})
	if err != nil {
		end()
		return renderer, rendererLane, nil, fmt.Errorf("video provider: %w", err)
	}
	providerQueue := lane.New(lane.Limits{Concurrency: cfg.Concurrency})
	renderer = activities.Renderer{
		Name: cfg.Provider, Provider: client, Lane: providerQueue, Model: cfg.Model,
		Timeout: cfg.Timeout, Doubt: videoCallTimeout + video.Appears, Every: interval, Callbacks: strings.TrimRight(a.Config.API.PublicURL, "/"),
		PerSecond: cfg.PricePerSecond, PerJob: cfg.PricePerJob, Currency: a.Config.LLM.Currency,
	}
	return renderer, providerLane{renderer.LaneName(), providerQueue}, end, nil
}
