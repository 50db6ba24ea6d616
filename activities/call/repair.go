package call

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// defect is what was wrong with an answer that was paid for and cannot be used. The next call repairs it: an answer
// that was cut may be longer, an answer that broke its schema is shown to the model. That is done once.
type defect struct {
	Code   task.Code `json:"code"`
	Said   string    `json:"said"`             // what is wrong
	Answer string    `json:"answer,omitempty"` // that broke its schema
	Longer int       `json:"longer,omitempty"` // the limit of tokens for the next answer
}

// leastLonger is the limit of tokens that a cut answer gets at least the second time: enough for two
// thousand words in any language.
const leastLonger = 8192

// defectOf returns what can be repaired about a refused answer; nil where nothing can.
func defectOf(req llm.Request, refusal *llm.Error) *defect {
	switch {
	case refusal.Code == task.AnswerIncomplete && refusal.Class == llm.Final: // it came to its limit
		longer := max(leastLonger, 2*req.MaxTokens, 2*int(refusal.Partial.OutputTokens))
		return &defect{Code: refusal.Code, Said: refusal.Message, Longer: longer}
	case refusal.Code == task.BadResponse && refusal.Answer != "":
		return &defect{Code: refusal.Code, Said: refusal.Message, Answer: refusal.Answer}
	default:
		return nil
	}
}

// repair returns the request for an answer without the defect.
func (f *defect) repair(req llm.Request) llm.Request {
	req.IdempotencyKey += "-mended"
	if f.Longer > 0 {
		req.MaxTokens = f.Longer
		return req
	}
	req.Messages = append(slices.Clone(req.Messages),
		llm.Message{Role: "assistant", Content: f.Answer},
		llm.Message{Role: "user", Content: "That cannot be used: " + f.Said + ". Give the whole answer again, mended, as JSON alone."},
	)
	return req
}

// recordDefect keeps a defect for the next attempt, and reports whether it can be repaired. If the bucket is down, the
// call is repeated unchanged.
func (q *PaidCall) recordDefect(ctx context.Context, f *defect) bool {
	if f == nil || q.Heartbeat.Call().Defect != "" {
		return false
	}
	key := strings.TrimSuffix(q.Key, ".json") + "-flaw.json"
	if err := q.Ledger.Record(context.WithoutCancel(ctx), key, f); err != nil {
		q.Log.Warn("flaw of an answer not recorded", "key", key, "error", err)
		return false
	}
	q.Heartbeat.UpdateCall(func(s *record.CallState) { s.Defect = key })
	return true
}

// readDefect returns the defect of the last answer; nil when the key is "".
func (a *Caller) readDefect(ctx context.Context, key string) (*defect, error) {
	if key == "" {
		return nil, nil
	}
	var f defect
	found, err := a.Ledger.Look(ctx, key, &f)
	if err != nil || !found {
		return nil, err
	}
	return &f, nil
}

// cutShort is the failure of a call whose answer was cut.
func cutShort(provider string, r llm.Response) error {
	return &llm.Error{
		Class: llm.Final, Code: task.AnswerIncomplete, Provider: provider, Status: http.StatusOK, RequestID: r.RequestID, Partial: r.Usage,
		Message: "the answer was cut at the model's output limit; ask for fewer words or use another model",
	}
}
