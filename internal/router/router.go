package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
)

// Provider is one key at one model provider.
type Provider struct {
	Name   string
	Queue  string  // task queue of calls to the provider
	Model  Wire    // nil in a process that makes no calls
	Lane   Gate    // admission to the provider; nil in a process that makes no calls
	Models []Model // the configured models; other models are passed by name

	rests atomic.Pointer[time.Time] // end of the rest; nil before the first rest
}

// Wire makes calls to a provider; openai.Client implements it.
type Wire interface {
	llm.Model
	llm.Embedder
}

// Gate admits calls to a provider; lane.Lane implements it.
type Gate interface {
	Enter(ctx context.Context, of lane.Caller, tokens int, patience time.Duration) (*lane.Pass, error)
}

// Model is a configured model of a provider.
type Model struct {
	Name      string   // name used by tasks
	As        string   // name used by the provider; "" means Name
	Price     *Price   // nil if unknown
	Fallbacks []string // replacement models, in order
}

// Target is a model at a provider.
type Target struct {
	*Provider
	Name  string // name of the model at the provider
	Price *Price // nil if unknown
}

// Router finds the targets of a model. It is safe for concurrent use.
type Router struct {
	providers []*Provider
	standard  string
}

// New returns a router over one or more providers. The first provider receives all models that no provider lists.
// standard is the default model. A fallback must be a listed model or "provider/model"; New returns an error
// otherwise.
func New(standard string, providers ...*Provider) (*Router, error) {
	r := &Router{providers: providers, standard: standard}
	for _, p := range providers {
		for _, m := range p.Models {
			for _, name := range m.Fallbacks {
				if len(r.named(name)) == 0 {
					return nil, fmt.Errorf("model %s of provider %s has the fallback %q, which no provider lists; use a listed model or provider/model", m.Name, p.Name, name)
				}
			}
		}
	}
	return r, nil
}

// Providers returns all providers in their order.
func (r *Router) Providers() []*Provider { return r.providers }

// Model returns the requested model, or the default model if the request is empty.
func (r *Router) Model(asked string) string {
	if asked == "" {
		return r.standard
	}
	return asked
}

// Targets returns the targets of a model in the order in which they are tried; at least one. All providers that list
// the model come before its fallbacks.
func (r *Router) Targets(asked string) []Target {
	asked = r.Model(asked)
	targets := r.Same(asked)
	for _, p := range r.providers {
		for _, m := range p.Models {
			if m.Name == asked {
				for _, name := range m.Fallbacks {
					targets = append(targets, r.named(name)...)
				}
			}
		}
	}
	return unique(targets)
}

// Priced reports whether the prices of all targets of a model are known.
func (r *Router) Priced(asked string) bool {
	return !slices.ContainsFunc(r.Targets(asked), func(t Target) bool { return t.Price == nil })
}

// Same returns the targets of a model without fallbacks, for results that depend on the model, such as vectors.
func (r *Router) Same(asked string) []Target {
	if targets := r.named(asked); len(targets) > 0 {
		return targets
	}
	return []Target{{Provider: r.providers[0], Name: asked}}
}

// named returns the targets of a listed name, or of a name "provider/model".
func (r *Router) named(name string) []Target {
	var targets []Target
	for _, p := range r.providers {
		for _, m := range p.Models {
			if m.Name == name {
				targets = append(targets, Target{Provider: p, Name: m.as(), Price: m.Price})
			}
		}
	}
	if len(targets) > 0 {
		return targets
	}
	for _, p := range r.providers {
		if model, ok := strings.CutPrefix(name, p.Name+"/"); ok && model != "" {
			return []Target{p.target(model)}
		}
	}
	return nil
}

func (m Model) as() string {
	if m.As == "" {
		return m.Name
	}
	return m.As
}

// target returns a model of this provider by either name.
func (p *Provider) target(name string) Target {
	for _, m := range p.Models {
		if name == m.Name || name == m.as() {
			return Target{Provider: p, Name: m.as(), Price: m.Price}
		}
	}
	return Target{Provider: p, Name: name}
}

func unique(targets []Target) []Target {
	var found []Target
	for _, t := range targets {
		if !slices.ContainsFunc(found, func(f Target) bool { return f.Provider == t.Provider && f.Name == t.Name }) {
			found = append(found, t)
		}
	}
	return found
}

// restFor is how long calls with another target avoid a provider that was found down.
const restFor = 30 * time.Second

// Rest marks the provider as down for a while; calls with another target avoid it.
func (p *Provider) Rest() { p.rests.Store(new(time.Now().Add(restFor))) }

// Rests reports whether the provider is marked as down.
func (p *Provider) Rests() bool {
	until := p.rests.Load()
	return until != nil && time.Now().Before(*until)
}

// String returns provider/model, as shown in errors and items.
func (t Target) String() string { return t.Provider.Name + "/" + t.Name }
