package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/notify/notifytest"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// historiesDir is where the replay test reads histories: one folder for each kind.
const historiesDir = "../workflows/testdata/histories"

var recordKind = flag.String("record", "", "record the histories of a kind, or of all kinds")

// TestRecord runs tasks of every shape and saves their histories for the replay test. Record with the deployed code: a
// history of a branch proves nothing about it.
func TestRecord(t *testing.T) {
	if *recordKind == "" {
		t.Skip("run by make record")
	}
	shapes := map[string]map[string]func(*stack) string{
		"summary": {
			"digest":    recordDigest,
			"parts":     recordParts,
			"failures":  recordFailures,
			"cancelled": recordCancelled,
			"continued": recordContinued,
			"paused":    recordPaused,
			"replayed":  recordReplayed,
			"told":      recordTold,
		},
		"notify": {
			"ended": func(s *stack) string { return recordTold(s) + ".ended" },
			"again": recordAgain,
		},
		"replay":    {"bulk": recordBulk},
		"translate": {"parts": recordTranslation},
		"agent": {
			"approval":  recordApproval,
			"child":     recordChild,
			"compacted": recordCompacted,
			"continued": recordLongAgent,
			"cancelled": recordCancelledAgent,
		},
		"qa":       qaShapes(),
		"generate": {"rows": recordRows, "failures": recordBadRows, "cancelled": recordCancelledRows, "continued": recordManyRows},
		"classify": {"packed": recordPackedRows},
		"embed":    {"vectors": recordVectors},
	}
	for kind, shapes := range shapes {
		for name, run := range shapes {
			if *recordKind == "all" || *recordKind == kind {
				t.Run(kind+"/"+name, func(t *testing.T) {
					opts := localtemporal.Options{}
					if name == "continued" {
						opts.HistoryEvents = 40
					}
					s := newStackOn(t, opts, "LONGHAUL_LLM_CHUNK_TOKENS=200", "LONGHAUL_LLM_CONTEXT_TOKENS=4000", "LONGHAUL_NOTIFY_ALLOW_PRIVATE=127.0.0.1")
					s.saveHistories(kind, name, run(s))
				})
			}
		}
	}
}

func recordTranslation(s *stack) string {
	return s.finish(s.begin("translate", map[string]any{"documents": []task.Document{{Text: strings.Repeat("The keeper lit the lamp above the sea. ", 80)}, {Text: "A note."}}, "language": "German"}, nil)).ID
}

func recordDigest(s *stack) string {
	in := notes(6)
	in.Digest = true
	return s.finish(s.submit(in)).ID
}

func recordParts(s *stack) string {
	return s.finish(s.submit(task.SummaryInput{Documents: []task.Document{{Name: "long", Text: story(2_000)}, {Text: "Short."}}})).ID
}

func recordFailures(s *stack) string {
	s.provider.On("[doc-000]", llmtest.RateLimit(1), llmtest.Fail(http.StatusBadGateway, "oops"), llmtest.Reply{})
	s.provider.On("[doc-001]", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`))
	in := notes(3)
	in.Documents = append(in.Documents, task.Document{URL: "http://127.0.0.1:9/nothing"})
	return s.finish(s.submit(in)).ID
}

func recordContinued(s *stack) string {
	in := task.SummaryInput{}
	for i := range 30 {
		in.Documents = append(in.Documents, task.Document{Text: fmt.Sprintf("Keeper %d. ", i) + story(2000)})
	}
	in.Documents = append(in.Documents, notes(600).Documents...)
	return s.finish(s.submit(in)).ID
}

func recordCancelled(s *stack) string {
	s.provider.On("[doc-001]", llmtest.Reply{End: llmtest.Silence})
	id := s.submit(notes(3))
	require.NoError(s.t, s.provider.WaitFor(s.soon(), 3))
	s.post("/v1/tasks/"+id+"/cancel", "")
	return s.finish(id).ID
}

// recordTold runs a task whose end is sent to a webhook.
func recordTold(s *stack) string {
	id := s.begin("summary", notes(1), map[string]any{"webhook": map[string]any{"url": newReceiver(s.t, nil).URL()}})
	s.finish(id)
	s.waitDelivery(id, task.DeliveryDelivered)
	return id
}

// recordAgain runs a task whose message fails and is redelivered by hand while it waits for its next attempt.
func recordAgain(s *stack) string {
	var up atomic.Bool
	r := newReceiver(s.t, func(notifytest.Call) notifytest.Reply {
		if up.Load() {
			return notifytest.Reply{}
		}
		return notifytest.Reply{Status: http.StatusBadGateway}
	})
	id := s.begin("summary", notes(1), map[string]any{"webhook": map[string]any{"url": r.URL()}})
	s.finish(id)
	require.NoError(s.t, r.WaitFor(s.soon(), 1))
	up.Store(true)
	s.redeliver(s.deliveries(id)[0].ID, http.StatusAccepted)
	return s.waitDelivery(id, task.DeliveryDelivered).ID
}

// saveHistories writes the histories of a task and of its first group.
func (s *stack) saveHistories(kind, name, id string) {
	c := s.cluster()
	defer c.Close()
	files := map[string]string{id: name}
	if kind == "summary" {
		files[record.GroupID(id, 0)] = name + "-group"
	}
	for workflow, file := range files {
		dir := filepath.Join(historiesDir, kind)
		require.NoError(s.t, os.MkdirAll(dir, 0o755))
		answer, err := c.Client.WorkflowService().GetWorkflowExecutionHistory(context.Background(), &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: c.Namespace, Execution: &common.WorkflowExecution{WorkflowId: workflow},
		})
		require.NoError(s.t, err)
		data, err := protojson.Marshal(withoutHost(answer.GetHistory()))
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.json", file)), data, 0o644))
	}
}

// withoutHost replaces the name of the recording machine in a history.
func withoutHost(h *history.History) *history.History {
	host, err := os.Hostname()
	data, marshalErr := protojson.Marshal(h)
	if err != nil || marshalErr != nil {
		return h
	}
	clean := &history.History{}
	if protojson.Unmarshal([]byte(strings.ReplaceAll(string(data), "@"+host+"@", "@host@")), clean) != nil {
		return h
	}
	return clean
}
