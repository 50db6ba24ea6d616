package llm

import (
	"context"
	"errors"
)

// EmbedRequest is one call for the vectors of some texts. Its JSON is what a ledger hashes.
type EmbedRequest struct {
	Model      string   `json:"model"`
	Texts      []string `json:"texts"`                // none of them empty
	Dimensions int      `json:"dimensions,omitempty"` // 0 is the model's own

	IdempotencyKey string `json:"-"` // as in Request
}

// Embeddings are the vectors of a request's texts, in their order: all of one length, of finite numbers.
type Embeddings struct {
	Vectors   [][]float32 `json:"vectors"`
	Model     string      `json:"model"` // as the provider named it
	RequestID string      `json:"request_id,omitempty"`
	Usage     Usage       `json:"usage"`
	Simulated bool        `json:"simulated,omitempty"` // the built-in simulated provider answered
}

// EmbedLimits is what one call for embeddings may hold. Zeros are no limit.
type EmbedLimits struct {
	Inputs int // texts
	Tokens int // of all texts together
}

// Embedder gives vectors. It makes at most one HTTP request a call, under the rules of Model.
type Embedder interface {
	// Embed refuses a request that is larger than the limits with ErrBatchTooLarge, unsent.
	Embed(ctx context.Context, req EmbedRequest) (Embeddings, error)
	// EmbedLimits is what is known about a model by now: a provider's refusals teach it.
	EmbedLimits(model string) EmbedLimits
}

// ErrBatchTooLarge is behind an *Error of a request that may succeed in smaller parts.
var ErrBatchTooLarge = errors.New("too much for one call")

// ErrDimensions is behind an *Error of a model that does not give vectors as long as was asked for, whatever the texts.
var ErrDimensions = errors.New("other dimensions than asked for")

// Fits reports whether all texts may go into one call.
func (r EmbedRequest) Fits(limits EmbedLimits) bool {
	return (limits.Inputs == 0 || len(r.Texts) <= limits.Inputs) && (limits.Tokens == 0 || r.Tokens() <= limits.Tokens)
}

// Tokens is about how many the texts have, rather more.
func (r EmbedRequest) Tokens() int {
	tokens := 0
	for _, text := range r.Texts {
		tokens += estimate(text)
	}
	return tokens
}

// estimate is more tokens than a text has in any usual tokenizer.
func estimate(text string) int { return len(text)/2 + 1 }
