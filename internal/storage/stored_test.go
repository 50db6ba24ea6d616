package storage

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Stored(t, StoredDeadLetter{}, Notice{}, Delivery{}, Endpoint{}, Secret{})
}
