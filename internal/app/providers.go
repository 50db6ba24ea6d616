package app

import (
	"context"
	"fmt"
	"sync"

	"longhaul/internal/config"
	"longhaul/internal/lane"
	"longhaul/internal/llm/openai"
	"longhaul/internal/llm/simulated"
	"longhaul/internal/metrics"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/workflows"
)

// router creates the routing table from models to providers. The API uses it as it is; a worker adds clients and lanes with connectProviders.
func (a *App) router() (*router.Router, error) {
	var providers []*router.Provider
	for i, p := range a.Config.LLM.All() {
		providers = append(providers, &router.Provider{Name: p.Name, Queue: llmQueue(i, p), Models: a.models(p)})
	}
	return router.New(a.Config.LLM.Model, providers...)
}

// priced returns a function that reports whether the price of a model is configured; an empty model is the default of the kind.
func (a *App) priced(models *router.Router) func(kind, model string) bool {
	return func(kind, model string) bool {
		switch {
		case kind == record.KindVideo:
			return a.Config.Video.Priced()
		case kind == record.KindEmbed && model == "":
			model = a.Config.LLM.EmbeddingModel
		}
		return models.Priced(model)
	}
}

// llmQueue returns the task queue for calls to the ith provider. Each provider has its own queue, so a slow provider takes no slots from
// others.
func llmQueue(i int, p config.Provider) string {
	if i == 0 {
		return record.QueueLLM
	}
	return record.QueueLLM + "-" + p.Name
}

func (a *App) models(p config.Provider) []router.Model {
	var models []router.Model
	for _, m := range p.Models {
		model := router.Model{Name: m.Name, As: m.As, Fallbacks: m.Fallbacks}
		if m.Price != nil {
			model.Price = &router.Price{Input: m.Price.Input, Cached: m.Price.Cached, Output: m.Price.Output, Currency: a.Config.LLM.Currency}
		}
		models = append(models, model)
	}
	return models
}

// connectProviders sets the client and the lane of each provider in the routing table. A provider without a base URL is replaced by the
// simulated model, which end stops.
func (a *App) connectProviders(ctx context.Context, models *router.Router) (lanes []providerLane, end func(), err error) {
	end = func() {}
	for i, p := range a.Config.LLM.All() {
		if p.BaseURL == "" {
			if p.BaseURL, end, err = simulated.Start(context.WithoutCancel(ctx), simulated.Options{Answer: workflows.Simulate}); err != nil {
				return nil, nil, fmt.Errorf("start the simulated model: %w", err)
			}
			a.Log.Warn("no model provider is configured, so answers are simulated; set OPENAI_API_KEY to use a real model")
		}
		provider := models.Providers()[i]
		if provider.Model, err = a.client(p); err != nil {
			end()
			return nil, nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		providerQueue := lane.New(lane.Limits{
			Concurrency: a.concurrency(p), Requests: float64(p.RequestsPerMinute), Tokens: float64(p.TokensPerMinute),
		})
		provider.Lane = providerQueue
		lanes = append(lanes, providerLane{provider.Name, providerQueue})
	}
	return lanes, end, nil
}

// maintainLanes reports the lanes of this worker and shares their limits with other workers until stop is called.
func (a *App) maintainLanes(ctx context.Context, lanes []providerLane) (stop func()) {
	a.Metrics.Watch(func() []metrics.Sample { return laneSamples(lanes) })
	ctx, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	loops.Go(func() { a.reportLanes(ctx, lanes) })
	loops.Go(func() { a.shareLimits(ctx, lanes) })
	return func() { cancel(); loops.Wait() }
}

func (a *App) client(p config.Provider) (*openai.Client, error) {
	return openai.New(openai.Config{
		Name: p.Name, BaseURL: p.BaseURL, Key: p.Key.Reveal(), Profile: p.Profile,
		IdleTimeout: a.Config.LLM.IdleTimeout, TotalTimeout: a.Config.LLM.Timeout, Log: a.Log,
	})
}

// concurrency returns how many calls a worker makes to a provider at a time.
func (a *App) concurrency(p config.Provider) int {
	if p.Concurrency > 0 {
		return p.Concurrency
	}
	return a.Config.Worker.LLMConcurrency
}

func providerNames(providers []config.Provider) []string {
	names := make([]string, len(providers))
	for i, p := range providers {
		names[i] = p.Name
	}
	return names
}
