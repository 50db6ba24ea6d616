package workflows_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"longhaul/workflows"
)

// TestReplay runs every recorded history through the code of today. A failure means that tasks in
// flight would be stuck after a deploy; CONTRIBUTING.md tells the ways out.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, kind := range workflows.Kinds() {
		files, err := filepath.Glob(filepath.Join("testdata", "histories", kind.Name, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files, "the kind %s has no recorded history: make record KIND=%s", kind.Name, kind.Name)
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				replayer := worker.NewWorkflowReplayer()
				workflows.Register(replayer)
				require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(nil, file))
			})
		}
	}
}

// The names that histories, clients and search know are for ever.
func TestNames(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, kind := range workflows.Kinds() {
		kinds = append(kinds, kind.Name)
	}
	require.Equal(t, []string{"summary"}, kinds)
	require.Equal(t, []string{"facts", "state", "status"}, []string{workflows.MemoFacts, workflows.MemoState, workflows.QueryStatus})
	require.Equal(t, []string{"LonghaulTenant", "LonghaulKind", "LonghaulState", "LonghaulLabels"}, []string{
		workflows.AttrTenant.GetName(), workflows.AttrKind.GetName(), workflows.AttrState.GetName(), workflows.AttrLabels.GetName(),
	})
}
