package workflows_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/notify"
	"longhaul/activities/results"
	"longhaul/internal/record"
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

// The names of activities are in histories, so a rename strands tasks in flight.
func TestActivityNames(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	parts := activities.Parts{Call: &call.Caller{}, Documents: &documents.Library{}, Results: &results.Store{}}
	for queue, acts := range workflows.Activities(parts) {
		names[queue] = slices.Sorted(maps.Keys(acts))
	}
	require.Equal(t, map[string][]string{
		record.QueueDocuments: {
			"EndReplay", "FailItem", "FailQuestion", "FailVideo", "FetchDocument", "FetchRows", "FinishAgent", "FinishQA", "FinishReplays", "FinishRows",
			"FinishSummary", "FinishTranslation", "FinishVideo", "HalvePart", "NoteReplay", "OpenLibrary", "PauseCalls", "PlanDocuments", "PlanReplays", "PlanRows", "PlanSummary",
			"PlanTranslation", "PlanVideo", "PrepareAgent", "PrepareChild", "PrepareReplay", "ReadDocuments", "StoreTranslation", "WriteDeadLetter",
		},
		record.QueueLLM: {
			"AgentTurn", "AnswerQuestion", "CombineAnswers", "CombineFindings", "CompactConversation", "DigestItems", "EmbedPassages", "EmbedQuestions",
			"RunRows", "SearchPart", "SummarisePart", "TranslatePart",
		},
		record.QueueTools: {"RunTool"},
		record.QueueVideo: {"FetchVideo", "StopVideo", "SubmitVideo", "WatchVideo"},
	}, names)
}

// Every activity that a recorded workflow asked for is registered on the queue that it was asked for on.
func TestQueues_registerWhatWorkflowsAskFor(t *testing.T) {
	t.Parallel()
	parts := activities.Parts{Call: &call.Caller{}, Documents: &documents.Library{}, Results: &results.Store{}}
	registered := workflows.Activities(parts)
	registered[record.QueueNotify] = activities.ByQueue([]activities.Queued{&notify.Activities{}})[record.QueueNotify]
	files, err := filepath.Glob(filepath.Join("testdata", "histories", "*", "*.json"))
	require.NoError(t, err)
	asked := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var history historypb.History
		require.NoError(t, protojson.Unmarshal(text, &history), file)
		for _, event := range history.GetEvents() {
			scheduled := event.GetActivityTaskScheduledEventAttributes()
			if scheduled == nil {
				continue
			}
			queue, name := scheduled.GetTaskQueue().GetName(), scheduled.GetActivityType().GetName()
			require.Contains(t, registered[queue], name, "%s asks for it on the queue %s", file, queue)
			asked[name] = true
		}
	}
	require.NotEmpty(t, asked)
}

// Names that histories, clients and searches use are stored names.
func TestStoredNames(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, kind := range workflows.Kinds() {
		kinds = append(kinds, kind.Name)
	}
	require.Equal(t, []string{"summary", "agent", "qa", "video", "generate", "classify", "embed", "translate", "replay"}, kinds)
	require.Equal(t, "task_x.group-7", record.GroupID("task_x", 7))
	require.Equal(t, []string{"facts", "state", "status", "input", "pause", "group_progress", "video_hint"}, []string{
		record.MemoFacts, record.MemoState, record.QueryStatus, record.SignalInput, record.SignalPause, record.SignalGroup, record.SignalVideoHint,
	})
	require.Equal(t, []string{"notify", "deliver", "ping", "redeliver"}, []string{record.TypeNotify, record.TypeDeliver, record.TypePing, record.SignalRedeliver})
	require.Equal(t, []string{"LonghaulTenant", "LonghaulKind", "LonghaulState", "LonghaulLabels"}, []string{
		record.AttrTenant.GetName(), record.AttrKind.GetName(), record.AttrState.GetName(), record.AttrLabels.GetName(),
	})
	require.Equal(t, []string{"longhaul-workflows", "longhaul-llm", "longhaul-tools", "longhaul-video", "longhaul-documents", "longhaul-notify"}, []string{
		record.QueueWorkflows, record.QueueLLM, record.QueueTools, record.QueueVideo, record.QueueDocuments, record.QueueNotify,
	})
}
