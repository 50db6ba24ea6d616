package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Ledger is the record of paid answers: what makes "paid once" true. Before a paid call its key is
// looked up, after it the answer is recorded, and only then is a reference returned. So a retry, a
// crash after the answer, or another task of the same lineage finds the answer and does not pay.
type Ledger struct{ bucket *Bucket }

// NewLedger gives the ledger of a bucket.
func NewLedger(b *Bucket) Ledger { return Ledger{bucket: b} }

// LedgerKey names the answer to a request. Lineage is the id of the first of the tasks that share their answers: a
// task alone has its own; step is the name of the step that asks. Two requests share a key only if their JSON is
// the same.
func LedgerKey(lineage, step string, request any) (string, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("ledger key of %s: %w", step, err)
	}
	sum := sha256.Sum256(data)
	return "ledger/" + lineage + "/" + step + "/" + hex.EncodeToString(sum[:]) + ".json", nil
}

// Look reads the answer under a key into answer, and reports whether there is one.
func (l Ledger) Look(ctx context.Context, key string, answer any) (bool, error) {
	err := l.bucket.GetJSON(ctx, key, answer)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Record keeps an answer that was paid for.
func (l Ledger) Record(ctx context.Context, key string, answer any) error {
	return l.bucket.PutJSON(ctx, key, answer)
}
