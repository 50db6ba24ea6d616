package llm

import (
	"context"
	"errors"
	"fmt"

	"longhaul/internal/task"
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

// EmbedAll gets the vectors of any number of texts in calls as large as the limits allow, one after the
// other. Parts that the provider calls too large are halved; every other failure ends it, and what was
// paid for so far comes with the error: go on with Texts[len(Vectors):].
func EmbedAll(ctx context.Context, e Embedder, req EmbedRequest) (Embeddings, error) {
	var all Embeddings
	for most := len(req.Texts); len(all.Vectors) < len(req.Texts); {
		part := req.part(len(all.Vectors), e.EmbedLimits(req.Model), most)
		got, err := e.Embed(ctx, part)
		switch {
		case errors.Is(err, ErrBatchTooLarge) && len(part.Texts) > 1:
			most = len(part.Texts) / 2
			continue
		case err == nil:
			err = all.add(got)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// part is the request for the texts from one on, as many as fit, and one at least. Another part is
// another request, so it has another idempotency key.
func (r EmbedRequest) part(from int, limits EmbedLimits, most int) EmbedRequest {
	if limits.Inputs > 0 {
		most = min(most, limits.Inputs)
	}
	to := from
	for tokens := 0; to < len(r.Texts) && to-from < most; to++ {
		tokens += estimate(r.Texts[to])
		if limits.Tokens > 0 && tokens > limits.Tokens && to > from {
			break
		}
	}
	if r.IdempotencyKey != "" {
		r.IdempotencyKey = fmt.Sprintf("%s-%d-%d", r.IdempotencyKey, from, to)
	}
	r.Texts = r.Texts[from:to]
	return r
}

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

// add puts more vectors behind those there are.
func (e *Embeddings) add(more Embeddings) error {
	if len(e.Vectors) == 0 {
		*e = more
		return nil
	}
	if was, is := len(e.Vectors[0]), len(more.Vectors[0]); was != is {
		return &Error{
			Class: Final, Code: task.BadResponse, Provider: more.Model, RequestID: more.RequestID, Partial: more.Usage,
			Message: fmt.Sprintf("one call gave vectors of %d numbers, the next one of %d", was, is),
		}
	}
	e.Vectors = append(e.Vectors, more.Vectors...)
	e.Usage = e.Usage.plus(more.Usage)
	return nil
}

// plus is the usage of two calls; it is unknown when one of the two is.
func (u Usage) plus(v Usage) Usage {
	return Usage{
		Known: u.Known && v.Known, Estimated: u.Estimated || v.Estimated,
		InputTokens: u.InputTokens + v.InputTokens, OutputTokens: u.OutputTokens + v.OutputTokens, CachedTokens: u.CachedTokens + v.CachedTokens,
	}
}
