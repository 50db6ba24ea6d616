package rows

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Stored(t, Row{}, Shard{}, Segment{}, record{})
}
