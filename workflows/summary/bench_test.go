package summary_test

import (
	"testing"

	activities "longhaul/activities/summary"
	"longhaul/internal/workflowtest"
)

func TestMain(m *testing.M) { workflowtest.Main(m) }

type bench struct{ *workflowtest.Bench }

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{workflowtest.New(t)}
}

func (b *bench) output() (out activities.SummaryOutput) {
	b.ReadResult(&out)
	return out
}
