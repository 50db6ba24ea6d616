package qa

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/task"
)

// SearchRequest asks what a part of the texts says about a question.
type SearchRequest struct {
	Task     record.TaskRef `json:"task,omitzero"`
	Question int            `json:"question,omitempty"`
	From     int            `json:"from"`             // first passage
	To       int            `json:"to"`               // first passage after the part
	Number   int            `json:"number,omitempty"` // of Of, from 1
	Of       int            `json:"of,omitempty"`
}

// FindingsRequest asks to make one answer to a question out of what was found in parts of the texts.
type FindingsRequest struct {
	Task     record.TaskRef     `json:"task,omitzero"`
	Question int                `json:"question,omitempty"`
	Answers  []string           `json:"answers,omitempty"` // ledger keys, in order; none if nothing was found
	Chunks   int                `json:"chunks,omitempty"`  // that were read
	Item     *results.ItemSoFar `json:"item,omitempty"`    // set when this call completes the question
}

// SearchPart is one model call: what a part of the texts says about a question. The answer has no key if
// that is nothing.
func (a *Activities) SearchPart(ctx context.Context, req SearchRequest) (call.Answer, error) {
	heart := call.StartHeartbeat(ctx, "searching")
	defer heart.Stop()
	p, err := a.readManifest(ctx, req.Task)
	if err != nil {
		return call.Answer{}, err
	}
	heart.Update(func(b *record.Heartbeat) {
		b.Stage = fmt.Sprintf("searching part %d of %d for %s", req.Number, req.Of, p.about(req.Question))
	})
	x, err := a.index(ctx, p, false)
	if err != nil {
		return call.Answer{}, err
	}
	passages := upTo(req.From, req.To)
	answer, said, err := a.askQA(ctx, heart, req.Task, stepSearch, p.orders(searchOrder, false), p.material(x, passages, req.Question))
	if err == nil && !said.check(x, shown(passages)).holds() {
		answer.Key = ""
	}
	return answer, err
}

// CombineFindings is one model call: one answer out of several. A single one is taken as it is, without a call, and
// so is none.
func (a *Activities) CombineFindings(ctx context.Context, req FindingsRequest) (call.Answer, error) {
	heart := call.StartHeartbeat(ctx, "combining")
	defer heart.Stop()
	p, err := a.readManifest(ctx, req.Task)
	if err != nil {
		return call.Answer{}, err
	}
	heart.Update(func(b *record.Heartbeat) { b.Stage = "combining what was found for " + p.about(req.Question) })
	x, err := a.index(ctx, p, false)
	if err != nil {
		return call.Answer{}, err
	}
	found, err := a.findings(ctx, x, req.Answers)
	if err != nil {
		return call.Answer{}, err
	}
	answer, last, err := a.combineQA(ctx, heart, req, p, x, found)
	if err != nil || req.Item == nil {
		return answer, err
	}
	result := QAResult{Question: p.Questions[req.Question], Mode: task.FullText, ChunksRead: req.Chunks}
	if len(found) == 0 {
		result.Note = "nothing about it was found in any part of the documents"
	}
	last.into(&result, p)
	return answer, a.completeQA(ctx, req.Task, req.Question, *req.Item, answer, result)
}

// findings reads answers back, with the quotes that are in the text.
func (a *Activities) findings(ctx context.Context, x *retrieval.Index, keys []string) ([]checked, error) {
	found := make([]checked, len(keys))
	for i, key := range keys {
		said, err := a.said(ctx, key)
		if err != nil {
			return nil, err
		}
		found[i] = said.check(x, nil)
	}
	return found, nil
}

// combineQA makes one answer of what was found.
func (a *Activities) combineQA(ctx context.Context, heart *call.Heartbeat, req FindingsRequest, p manifest, x *retrieval.Index, found []checked) (call.Answer, checked, error) {
	switch len(found) {
	case 0:
		return call.Answer{}, checked{}, nil
	case 1:
		answer, err := a.Call.Recorded(ctx, req.Answers[0])
		return answer, found[0], err
	}
	offered := map[int]bool{}
	parts := make([]string, len(found))
	for i, f := range found {
		for _, c := range f.Citations {
			offered[c.Source-1] = true
		}
		told, err := json.Marshal(map[string]any{"answer": f.Answer, "citations": f.Citations})
		if err != nil {
			return call.Answer{}, checked{}, err
		}
		parts[i] = call.Quote("finding", fmt.Sprint(i+1), string(told))
	}
	material := strings.Join(append(parts, p.asked(req.Question)), "\n")
	if req.Item != nil {
		a.showsAnswer(ctx, heart, req.Task, p)
	}
	answer, said, err := a.askQA(ctx, heart, req.Task, stepFinding, p.orders(findingOrder, false), material)
	return answer, said.check(x, offered), err
}
