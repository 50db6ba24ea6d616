package agent_test

import (
	"testing"

	"longhaul/internal/workflowtest"
)

func TestMain(m *testing.M) { workflowtest.Main(m) }

type bench struct{ *workflowtest.Bench }

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{workflowtest.New(t)}
}
