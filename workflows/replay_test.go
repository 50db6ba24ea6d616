package workflows_test

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"longhaul/activities"
	"longhaul/workflows"
)

// TestReplay runs every recorded history through the code of today. A failure means that tasks in
// flight would be stuck after a deploy; CONTRIBUTING.md tells the ways out.
func TestReplay(t *testing.T) {
	t.Parallel()
	folders := []string{"notify"} // of no kind, and in flight for a day
	for _, kind := range workflows.Kinds() {
		folders = append(folders, kind.Name)
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join("testdata", "histories", folder, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files, "there is no recorded history: make record KIND=%s", folder)
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

// Every activity belongs to a step of the kinds that use it, or readers would be shown its Go name. The
// names are in histories, so they are for ever.
func TestSteps(t *testing.T) {
	t.Parallel()
	steps := map[string]string{}
	for _, kind := range workflows.Kinds() {
		for activity, step := range kind.StepOf {
			require.Contains(t, kind.Steps, step)
			steps[activity] = step
		}
	}
	ofNoStep := map[string]bool{"Bury": true, "HoldCalls": true} // what every task does beside its steps
	for method := range reflect.TypeFor[*activities.Activities]().Methods() {
		if !ofNoStep[method.Name] {
			require.Contains(t, steps, method.Name)
		}
	}
	require.Equal(t, []string{
		"AgentTurn", "AnswerQuestion", "CombineAnswers", "CombineFindings", "CompactConversation", "DigestItems", "EmbedPassages", "EmbedQuestions",
		"EndReplay", "FailItem", "FailQuestion", "FailVideo", "FetchDocument", "FetchRows", "FetchVideo", "FinishAgent", "FinishQA", "FinishReplays", "FinishRows",
		"FinishSummary", "FinishVideo", "HalvePart", "NoteReplay", "OpenLibrary", "PlanDocuments", "PlanReplays", "PlanRows", "PlanSummary", "PlanVideo",
		"PrepareAgent", "PrepareChild", "PrepareReplay", "ReadDocuments", "RunRows", "RunTool", "SearchPart", "StopVideo", "SubmitVideo", "SummarisePart", "WatchVideo",
	}, slices.Sorted(maps.Keys(steps)))
}

// The names that histories, clients and search know are for ever.
func TestNames(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, kind := range workflows.Kinds() {
		kinds = append(kinds, kind.Name)
	}
	require.Equal(t, []string{"summary", "agent", "qa", "video", "generate", "classify", "embed", "replay"}, kinds)
	require.Equal(t, "task_x.group-7", workflows.GroupID("task_x", 7))
	require.Equal(t, []string{"facts", "state", "status", "video hint", "pause"}, []string{
		workflows.MemoFacts, workflows.MemoState, workflows.QueryStatus, workflows.SignalHint, workflows.SignalPause,
	})
	require.Equal(t, []string{"notify", "deliver", "ping", "again"}, []string{workflows.NotifyType, workflows.DeliverType, workflows.PingType, workflows.SignalAgain})
	require.Equal(t, []string{"LonghaulTenant", "LonghaulKind", "LonghaulState", "LonghaulLabels"}, []string{
		workflows.AttrTenant.GetName(), workflows.AttrKind.GetName(), workflows.AttrState.GetName(), workflows.AttrLabels.GetName(),
	})
}
