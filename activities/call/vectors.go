package call

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// embedding is a list of texts that get vectors.
type embedding struct {
	*Caller
	heart    *Heartbeat
	task     record.TaskRef
	step     string
	targets  []router.Target
	sum      Answer
	answered int // calls of this activity that gave an answer
}

// Embed returns the vectors of texts, in one call if possible, each call from the ledger if it was paid for before.
// After a failure the next attempt continues where this one stopped. The answer has no key.
func (a *Caller) Embed(ctx context.Context, heart *Heartbeat, t record.TaskRef, step string, req llm.EmbedRequest) ([][]float32, Answer, error) {
	e := &embedding{Caller: a, heart: heart, task: t, step: step, targets: a.Router.Same(req.Model)}
	vectors, err := e.all(ctx, req)
	if err != nil {
		return nil, Answer{}, err
	}
	spent := heart.Call().Spent()
	e.sum.Calls, e.sum.Usage = max(spent.Calls, e.answered), e.sum.Usage.Add(spent.Usage)
	return vectors, e.sum, nil
}

// all gets the vectors of a part in one call, or in halves where it is too large for one. The halves do not depend on
// what was learned of the limits, so an attempt finds what the last one paid for.
func (e *embedding) all(ctx context.Context, part llm.EmbedRequest) ([][]float32, error) {
	target := e.targets[min(e.heart.Call().Target, len(e.targets)-1)]
	if len(part.Texts) == 1 || part.Fits(target.Model.EmbedLimits(target.Name)) {
		got, err := e.one(ctx, part)
		if err == nil {
			return e.take(ctx, got, len(part.Texts))
		}
		if !tooMany(part)(err) {
			return nil, err
		}
	}
	first, second := part, part
	half := len(part.Texts) / 2
	first.Texts, second.Texts = part.Texts[:half], part.Texts[half:]
	vectors, err := e.all(ctx, first)
	if err != nil {
		return nil, err
	}
	more, err := e.all(ctx, second)
	if err != nil {
		return nil, err
	}
	if len(vectors[0]) != len(more[0]) {
		return nil, Final(task.Errorf(task.BadResponse, "one call gave vectors of %d numbers, the next one of %d", len(vectors[0]), len(more[0])), e.heart.Call())
	}
	return append(vectors, more...), nil
}

// tooMany reports whether a part may succeed in halves.
func tooMany(part llm.EmbedRequest) func(error) bool {
	return func(err error) bool { return errors.Is(err, llm.ErrBatchTooLarge) && len(part.Texts) > 1 }
}

// take counts an answer and returns its vectors.
func (e *embedding) take(ctx context.Context, got Entry, n int) ([][]float32, error) {
	if got.By == payer(ctx) {
		e.answered++
		e.sum.Usage = e.sum.Usage.Add(got.Used())
	}
	e.sum.By, e.sum.Simulated = got.From, got.Simulated
	return UnpackVectors(got.Vectors, n)
}

// one makes one call, unless the ledger has its answer.
func (e *embedding) one(ctx context.Context, part llm.EmbedRequest) (Entry, error) {
	key, err := storage.LedgerKey(e.task.Lineage, e.step, part)
	if err != nil {
		return Entry{}, err
	}
	q := &PaidCall{
		Caller: e.Caller, Heartbeat: e.heart, Task: e.task, Key: key, Targets: e.targets, Tokens: part.Tokens(), Splits: tooMany(part),
	}
	q.Send = q.Embed(part)
	return q.get(ctx)
}

// Embed makes the function that asks a target for vectors.
func (q *PaidCall) Embed(part llm.EmbedRequest) func(context.Context, router.Target) (Entry, llm.Limits, error) {
	return func(ctx context.Context, target router.Target) (Entry, llm.Limits, error) {
		req := part
		req.Model, req.IdempotencyKey = target.Name, q.idempotencyKey()
		got, err := target.Model.Embed(ctx, req)
		return Entry{
			Response: llm.Response{Model: got.Model, RequestID: got.RequestID, Usage: got.Usage, Simulated: got.Simulated},
			Vectors:  PackVectors(got.Vectors),
		}, llm.Limits{}, err
	}
}

// PackVectors encodes vectors as little-endian 32-bit floats, a third of their size in JSON.
func PackVectors(vectors [][]float32) []byte {
	var packed []byte
	for _, v := range vectors {
		for _, x := range v {
			packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(x))
		}
	}
	return packed
}

// UnpackVectors decodes n vectors of one length.
func UnpackVectors(packed []byte, n int) ([][]float32, error) {
	if n == 0 {
		return nil, fmt.Errorf("%d bytes are not %d vectors", len(packed), n)
	}
	vectors := make([][]float32, n)
	for i := range vectors {
		var err error
		if vectors[i], err = UnpackVector(packed, i, n); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// UnpackVector decodes the ith of n vectors.
func UnpackVector(packed []byte, i, n int) ([]float32, error) {
	if len(packed)%(4*n) != 0 || len(packed) == 0 {
		return nil, fmt.Errorf("%d bytes are not %d vectors", len(packed), n)
	}
	vector := make([]float32, len(packed)/(4*n))
	for j := range vector {
		vector[j] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*(i*len(vector)+j):]))
	}
	return vector, nil
}
