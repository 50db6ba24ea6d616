package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Ledger records paid answers, so that every answer is paid once. A paid call first looks its key up, and records the
// answer before it returns a reference. A retry, a crash after the answer, or another task of the same lineage
// therefore reuses the answer.
type Ledger struct{ bucket *Bucket }

// NewLedger returns the ledger of a bucket.
func NewLedger(b *Bucket) Ledger { return Ledger{bucket: b} }

// LedgerKey returns the key of the answer to a request. lineage is the id of the first of the tasks that share
// answers; step is the name of the calling step. Requests share a key only if their JSON is equal.
func LedgerKey(lineage, step string, request any) (string, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("ledger key of %s: %w", step, err)
	}
	sum := sha256.Sum256(data)
	return "ledger/" + lineage + "/" + step + "/" + hex.EncodeToString(sum[:]) + ".json", nil
}

// Look reads the answer of a key, and reports whether it exists.
func (l Ledger) Look(ctx context.Context, key string, answer any) (bool, error) {
	err := l.bucket.GetJSON(ctx, key, answer)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Record stores a paid answer.
func (l Ledger) Record(ctx context.Context, key string, answer any) error {
	return l.bucket.PutJSON(ctx, key, answer)
}
