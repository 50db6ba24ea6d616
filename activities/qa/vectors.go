package qa

import (
	"context"
	"strings"

	"longhaul/activities/call"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// VectorsRequest asks for the vectors of some leaves, or of the questions from From up to To.
type VectorsRequest struct {
	Task   record.TaskRef `json:"task,omitzero"`
	Leaves []Leaf         `json:"leaves,omitempty"`
	From   int            `json:"from,omitempty"`
	To     int            `json:"to,omitempty"`
}

// stepVectors is the step under which vectors stand in the ledger.
const stepVectors = "embed"

// EmbedPassages gets the vectors of passages, in one call if it can. They are kept by what the text is, so no task of
// the tenant pays for them again.
func (a *Activities) EmbedPassages(ctx context.Context, req VectorsRequest) (call.Answer, error) {
	heart := call.StartHeartbeat(ctx, "placing passages")
	defer heart.Stop()
	p, err := a.readManifest(ctx, req.Task)
	if err != nil {
		return call.Answer{}, err
	}
	x, err := a.index(ctx, p, false)
	if err != nil {
		return call.Answer{}, err
	}
	ask := llm.EmbedRequest{Model: p.Model}
	first := make([]int, len(p.readable())+1) // passage of each document
	for i, d := range p.readable() {
		first[i+1] = first[i] + len(d.Tokens)
	}
	for _, leaf := range req.Leaves {
		for from, to := p.span(leaf); from < to; from++ {
			n := first[leaf.Document] + from
			ask.Texts = append(ask.Texts, strings.TrimSpace(x.Place(n).Section+"\n\n"+x.Words(n)))
		}
	}
	vectors, answer, err := a.Call.Embed(ctx, heart, req.Task, stepVectors, ask)
	if err != nil {
		return call.Answer{}, err
	}
	for _, leaf := range req.Leaves {
		from, to := p.span(leaf)
		packed := call.PackVectors(vectors[:to-from])
		vectors = vectors[to-from:]
		if err := a.Bucket.Put(ctx, p.leafKey(leaf), "application/octet-stream", packed); err != nil {
			return call.Answer{}, err
		}
	}
	return answer, nil
}

// EmbedQuestions gets the vectors of questions, in one call if it can.
func (a *Activities) EmbedQuestions(ctx context.Context, req VectorsRequest) (call.Answer, error) {
	heart := call.StartHeartbeat(ctx, "placing questions")
	defer heart.Stop()
	p, err := a.readManifest(ctx, req.Task)
	if err != nil {
		return call.Answer{}, err
	}
	ask := llm.EmbedRequest{Model: p.Model}
	for i := req.From; i < req.To; i++ {
		ask.Texts = append(ask.Texts, p.query(i))
	}
	vectors, answer, err := a.Call.Embed(ctx, heart, req.Task, stepVectors, ask)
	if err != nil {
		return call.Answer{}, err
	}
	for i, vector := range vectors {
		key := storage.QuestionKey(req.Task.ID, req.From+i)
		if err := a.Bucket.Put(ctx, key, "application/octet-stream", call.PackVectors([][]float32{vector})); err != nil {
			return call.Answer{}, err
		}
	}
	return answer, nil
}

// questionVector reads back the vector of a question.
func (a *Activities) questionVector(ctx context.Context, t record.TaskRef, question int) ([]float32, error) {
	packed, err := a.Bucket.Get(ctx, storage.QuestionKey(t.ID, question))
	if err != nil {
		return nil, err
	}
	vectors, err := call.UnpackVectors(packed, 1)
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}
