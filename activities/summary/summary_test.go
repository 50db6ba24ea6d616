package summary

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

func TestFanIn(t *testing.T) {
	t.Parallel()
	for words, want := range map[int]int{20: 20, 300: 13, 1000: 4, 2000: 2} {
		require.Equal(t, want, fanIn(words), "%d words", words)
	}
}

// A record that cannot be read must not leave its document out of a digest in silence.
func TestDigestItems_aFaultIsNoGap(t *testing.T) {
	t.Parallel()
	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	a := &Activities{
		Bucket: b, Results: &results.Store{Bucket: b},
		Call: &call.Caller{Bucket: b, Ledger: storage.NewLedger(b), Log: slog.New(slog.DiscardHandler)},
	}
	require.NoError(t, b.PutJSON(t.Context(), storage.GroupKey("task_a", 0), documents.Manifest{}))
	require.NoError(t, b.Put(t.Context(), storage.ItemKey("task_a", 1), "", []byte("{half")))
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.DigestItems)
	_, err = env.ExecuteActivity(a.DigestItems, DigestRequest{Task: record.TaskRef{ID: "task_a"}, To: 2})
	require.ErrorContains(t, err, "000001.json")
	_, err = env.ExecuteActivity(a.DigestItems, DigestRequest{Task: record.TaskRef{ID: "task_a"}, To: 1})
	require.NoError(t, err, "a missing item is skipped")
}

// The ledger's steps stand in its keys: another name would pay again for what a task in flight has.
func TestLedgerSteps(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"summarise", "combine", "digest"}, []string{stepPart, stepCombine, stepDigest})
}

func TestReport(t *testing.T) {
	t.Parallel()
	text := report(SummaryOutput{
		Digest: "All is well.",
		Documents: []SummaryDocument{
			{Name: "a\nb", Status: task.ItemSucceeded, SummaryResult: &SummaryResult{Summary: "Sound.", Missing: []string{"part 2 of 3: refused"}}},
			{Index: 1, Status: task.ItemFailed, Error: task.Errorf(task.NoText, "it is scanned")},
		},
	}, true)
	for _, want := range []string{"simulated model", "## Over all documents\n\nAll is well.", "## a b\n\nSound.", "Not covered: part 2 of 3", "## document 2\n\nNo summary: it is scanned"} {
		require.Contains(t, text, want)
	}
}
