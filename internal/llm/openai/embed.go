package openai

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// defaultInputs is how many texts a call may have where the profile does not say, so that the answer
// stays far below the cap.
const defaultInputs = 256

// EmbedLimits is what the profile says, and less where the provider has refused that.
func (c *Client) EmbedLimits(model string) llm.EmbedLimits {
	limits := c.profile.Embeds
	limits.Inputs = or(limits.Inputs, defaultInputs)
	if known := c.learned.most(model); known > 0 {
		limits.Inputs = min(limits.Inputs, known)
	}
	return limits
}

// Embed asks for the vectors of texts, in exactly one HTTP request; none when the request cannot be a
// good one.
func (c *Client) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	x := c.open(ctx, nil)
	defer x.close()
	x.key, x.vector = req.IdempotencyKey, true
	if err := x.sendable(req); err != nil {
		return llm.Embeddings{}, err
	}
	body, err := x.post("/embeddings", c.profile.embedding(req))
	if err != nil {
		return llm.Embeddings{}, c.learn(err, req)
	}
	got, err := x.embeddings(body, req)
	return got, c.learn(err, req)
}

// embedding is a request as it is sent. A field that is not asked for is left out.
type embedding struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Encoding   string   `json:"encoding_format,omitempty"`
}

func (p Profile) embedding(req llm.EmbedRequest) embedding {
	e := embedding{Model: req.Model, Input: req.Texts, Dimensions: req.Dimensions}
	if p.Base64 {
		e.Encoding = "base64"
	}
	return e
}

// sendable refuses what providers refuse.
func (x *exchange) sendable(req llm.EmbedRequest) error {
	if len(req.Texts) == 0 {
		return x.fail(llm.Final, task.ModelRefused, "there is no text to embed")
	}
	for i, text := range req.Texts {
		if text == "" {
			return x.fail(llm.Final, task.ModelRefused, "text %d is empty; leave it out", i)
		}
	}
	if most := x.client.EmbedLimits(req.Model).Inputs; len(req.Texts) > most {
		e := x.fail(llm.Final, task.ModelRefused, "%d texts are too many for one call; the provider takes %d", len(req.Texts), most)
		e.Err = llm.ErrBatchTooLarge
		return e
	}
	return nil
}

// manyInputs are words of refusals that are about the number of texts, muchText of those about their
// length in sum.
var (
	manyInputs = []string{"batch size", "batch_size", "array too long", "too many inputs", "number of inputs", "input items", "数组"}
	muchText   = []string{"tokens per request", "max_tokens_per_request", "per-request token", "request too large", "total tokens"}
	inputCap   = regexp.MustCompile(`(?i)(?:larger than|greater than|exceed|maximum|max|at most|up to|limit|不得超过|最大|最多)[^0-9]{0,30}([0-9]+)`)
)

// learn marks a refusal of many texts that may be taken as fewer, and notes how few if it tells.
func (c *Client) learn(err error, req llm.EmbedRequest) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Class != llm.Final || len(req.Texts) < 2 {
		return err
	}
	refused := e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity || e.Status == http.StatusRequestEntityTooLarge
	switch {
	case refused && mentions(e.Message, manyInputs):
		c.learned.few(req.Model, fewer(e.Message, len(req.Texts)))
	case e.Code != task.ContextExceeded && !mentions(e.Message+" "+e.ProviderCode, muchText):
		return err
	}
	e.Err = llm.ErrBatchTooLarge
	return e
}

// fewer is the number of texts that a refusal allows, or half of those that it is about.
func fewer(message string, n int) int {
	for _, found := range inputCap.FindAllStringSubmatch(message, -1) {
		if limit, err := strconv.Atoi(found[1]); err == nil && limit > 0 && limit < n {
			return limit
		}
	}
	return n / 2
}
