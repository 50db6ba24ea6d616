package router

import (
	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// Price is what a million tokens of a model cost, in units of the currency.
type Price struct {
	Input    float64
	Cached   float64 // of input tokens that the provider had in its cache
	Output   float64
	Currency string
}

// Cost is what a call cost by what the provider told of it; nil when the price is not known, or the usage.
func (p *Price) Cost(u llm.Usage) *task.Cost {
	if p == nil || !u.Known {
		return nil
	}
	const million = 1e6
	fresh := float64(max(u.InputTokens-u.CachedTokens, 0))
	amount := fresh*p.Input + float64(u.CachedTokens)*p.Cached + float64(u.OutputTokens)*p.Output
	return &task.Cost{Amount: amount / million, Currency: p.Currency}
}
