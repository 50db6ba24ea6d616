package router

import (
	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// Price is the price of a million tokens of a model, in units of Currency.
type Price struct {
	Input    float64
	Cached   float64 // input tokens read from the provider's cache
	Output   float64
	Currency string
}

// Cost returns the cost of a call from its usage; nil if the price or the usage is unknown.
func (p *Price) Cost(u llm.Usage) *task.Cost {
	if p == nil || !u.Known {
		return nil
	}
	const million = 1e6
	fresh := float64(max(u.InputTokens-u.CachedTokens, 0))
	amount := fresh*p.Input + float64(u.CachedTokens)*p.Cached + float64(u.OutputTokens)*p.Output
	return &task.Cost{Amount: amount / million, Currency: p.Currency}
}
