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

// router makes the table of who answers for a model, without the means to ask anybody.
func (a *App) router() (*router.Router, error) {
	var providers []*router.Provider
	for i, p := range a.Config.LLM.All() {
		providers = append(providers, &router.Provider{Name: p.Name, Queue: queue(i, p), Models: a.models(p)})
	}
	return router.New(a.Config.LLM.Model, providers...)
}

// priced gives who tells whether it is known what a model costs, for a kind.
func (a *App) priced(table *router.Router) func(kind, model string) bool {
	return func(kind, model string) bool {
		switch {
		case kind == record.KindVideo:
			return a.Config.Video.Priced()
		case kind == record.KindEmbed && model == "":
			model = a.Config.LLM.EmbeddingModel
		}
		return table.Priced(model)
	}
}

// queue is the task queue of a provider's calls: each has its own, so that one that is slow or closed takes no
// slots from another.
func queue(i int, p config.Provider) string {
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

// connect gives the providers of a router their wires and lanes. Where none is configured, a simulated one of our own
// answers; call end when no more calls are made.
func (a *App) connect(ctx context.Context, r *router.Router) (gates []gate, end func(), err error) {
	end = func() {}
	for i, p := range a.Config.LLM.All() {
		if p.BaseURL == "" {
			if p.BaseURL, end, err = simulated.Start(context.WithoutCancel(ctx), simulated.Options{Answer: workflows.Simulate}); err != nil {
				return nil, nil, fmt.Errorf("start the simulated model: %w", err)
			}
			a.Log.Warn("no model provider is configured: answers are simulated; set OPENAI_API_KEY for real ones")
		}
		provider := r.Providers()[i]
		if provider.Model, err = a.client(p); err != nil {
			end()
			return nil, nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		queue := lane.New(lane.Limits{
			Concurrency: a.concurrency(p), Requests: float64(p.RequestsPerMinute), Tokens: float64(p.TokensPerMinute),
		})
		provider.Lane = queue
		gates = append(gates, gate{provider.Name, queue})
	}
	return gates, end, nil
}

// tend tells of the lanes of this worker, and shares their limits with the others, until it is stopped.
func (a *App) tend(ctx context.Context, gates []gate) (stop func()) {
	a.Metrics.Watch(func() []metrics.Sample { return laneSamples(gates) })
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { a.report(ctx, gates) })
	beside.Go(func() { a.share(ctx, gates) })
	return func() { cancel(); beside.Wait() }
}

func (a *App) client(p config.Provider) (*openai.Client, error) {
	return openai.New(openai.Config{
		Name: p.Name, BaseURL: p.BaseURL, Key: p.Key.Reveal(), Profile: p.Profile,
		IdleTimeout: a.Config.LLM.IdleTimeout, TotalTimeout: a.Config.LLM.Timeout, Log: a.Log,
	})
}

// concurrency is how many calls of one worker a provider gets at a time.
func (a *App) concurrency(p config.Provider) int {
	if p.Concurrency > 0 {
		return p.Concurrency
	}
	return a.Config.Worker.LLMConcurrency
}

func names(providers []config.Provider) []string {
	all := make([]string, len(providers))
	for i, p := range providers {
		all[i] = p.Name
	}
	return all
}
