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
	Queue  string  // the task queue of the calls that are meant for it
	Model  Wire    // nil where no calls are made
	Lane   Gate    // in front of it; nil where no calls are made
	Models []Model // what is known of its models

	rests atomic.Pointer[time.Time] // until when; nil for no rest so far
}

// Wire makes calls to a provider: openai.Client.
type Wire interface {
	llm.Model
	llm.Embedder
}

// Gate lets calls to a provider in: lane.Lane.
type Gate interface {
	Enter(ctx context.Context, of lane.Caller, tokens int, patience time.Duration) (*lane.Pass, error)
}

// Model is what is known of one model of a provider. A provider is asked for others by their name alone.
type Model struct {
	Name      string   // what tasks call it
	As        string   // what the provider calls it; "" means the same
	Price     *Price   // nil is not known
	Fallbacks []string // models that stand in for it, in order
}

// Target is a model at a provider.
type Target struct {
	*Provider
	Name  string // of the model, as the provider calls it
	Price *Price // nil is not known
}

// Router finds the targets of a model. It is safe for concurrent use.
type Router struct {
	providers []*Provider
	standard  string
}

// New makes a router over providers, of which there must be one at least: the first is asked for every
// model that none of them lists. Standard is the model of a task that names none. Every fallback must be
// a model that is listed, or a provider's name, a slash and a model.
func New(standard string, providers ...*Provider) (*Router, error) {
	r := &Router{providers: providers, standard: standard}
	for _, p := range providers {
		for _, m := range p.Models {
			for _, name := range m.Fallbacks {
				if len(r.named(name)) == 0 {
					return nil, fmt.Errorf("model %s of provider %s falls back on %q, which no provider lists", m.Name, p.Name, name)
				}
			}
		}
	}
	return r, nil
}

// Providers are all of them, the first first.
func (r *Router) Providers() []*Provider { return r.providers }

// Model is the name of the model that a task asks for: its own word, or the standard model.
func (r *Router) Model(asked string) string {
	if asked == "" {
		return r.standard
	}
	return asked
}

// Targets are who may be asked for a model, in order; there is one at least. Providers that list the same
// model stand in for each other, before its fallbacks do.
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

// Priced reports whether it is known what every target of a model costs.
func (r *Router) Priced(asked string) bool {
	return !slices.ContainsFunc(r.Targets(asked), func(t Target) bool { return t.Price == nil })
}

// Same are who may be asked for a model without its fallbacks: for what another model would not do alike, such as vectors.
func (r *Router) Same(asked string) []Target {
	if targets := r.named(asked); len(targets) > 0 {
		return targets
	}
	return []Target{{Provider: r.providers[0], Name: asked}}
}

// named are the targets that a name means: those that list it, or the provider that it begins with.
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

// target is a model at this provider by either of its names.
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

// restFor is how long a provider that was found down is left alone by calls that somebody else can answer.
const restFor = 30 * time.Second

// Rest lets calls that somebody else can answer pass a provider by for a while.
func (p *Provider) Rest() { p.rests.Store(new(time.Now().Add(restFor))) }

// Rests reports whether a provider had better be passed by.
func (p *Provider) Rests() bool {
	until := p.rests.Load()
	return until != nil && time.Now().Before(*until)
}

// String names a target in errors and items: provider/model.
func (t Target) String() string { return t.Provider.Name + "/" + t.Name }
