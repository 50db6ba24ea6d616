// Package workflowtest runs workflows in Temporal's test environment with the real activities, over a scripted provider
// and a bucket in memory. Tests of kinds use it; nothing else may.
package workflowtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/document"
	"longhaul/internal/lane"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
	"longhaul/workflows/lifecycle"
)

// Main runs the tests of a package: the test binary is also the child process that reads documents.
func Main(m *testing.M) {
	document.ServeIfChild()
	os.Exit(m.Run())
}

// Bench is a workflow environment with everything around it.
type Bench struct {
	T        *testing.T
	Env      *testsuite.TestWorkflowEnvironment
	Provider *llmtest.Provider
	Tools    *Toolbox
	Bucket   *storage.Bucket
	Parts    activities.Parts // a test may change them until a workflow is executed
	ID       string           // of the task

	mocked bool // the test environment registers nothing after a mock
}

// TaskID is the id of a bench's task.
const TaskID = "task_aaaaaaaaaaaaaaaaaaaaaaaaaa"

// New makes a bench.
func New(t *testing.T) *Bench {
	t.Helper()
	b := &Bench{T: t, Provider: llmtest.New(t), Tools: &Toolbox{}, ID: TaskID}
	var err error
	b.Bucket, err = storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	model, err := openai.New(openai.Config{Name: "scripted", BaseURL: b.Provider.URL(), Key: "k"})
	require.NoError(t, err)
	table, err := router.New("test-model", &router.Provider{Name: "scripted", Model: model, Lane: OpenGate{}})
	require.NoError(t, err)
	reader := document.NewExtractor(document.Options{Workers: 2})
	t.Cleanup(func() { _ = reader.Close() })
	log := slog.New(slog.DiscardHandler)
	files, store := storage.NewFiles(b.Bucket), &results.Store{Bucket: b.Bucket}
	b.Parts = activities.Parts{
		Call: &call.Caller{Bucket: b.Bucket, Ledger: storage.NewLedger(b.Bucket), Router: table, MaxAttempts: 3, Log: log},
		Documents: &documents.Library{
			Bucket: b.Bucket, Files: files, Results: store, Reader: reader, Fetcher: document.NewFetcher(document.FetchOptions{}),
			Scratch: t.TempDir(), ChunkTokens: 200,
		},
		Results: store, Bucket: b.Bucket, Files: files, Embedding: "test-embedding", ContextTokens: 2000,
		Indexes: &retrieval.Cache{}, Tools: b.Tools, Kinds: workflows.Inputs{}, Log: log,
	}
	b.Renew()
	return b
}

// Renew starts a new environment on the same bucket, as a replay or a restart would.
func (b *Bench) Renew() {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	b.Env = suite.NewTestWorkflowEnvironment()
	b.Env.SetTestTimeout(time.Minute)
	b.Env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: b.ID})
	workflows.Register(b.Env)
	b.registerActivities()
	b.Env.SetOnActivityStartedListener(b.checkQueue)
}

// registerActivities registers the activities of all queues, again if they were registered before.
func (b *Bench) registerActivities() {
	for _, queue := range workflows.Activities(b.Parts) {
		for name, act := range queue {
			b.Env.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name, DisableAlreadyRegisteredCheck: true})
		}
	}
}

// checkQueue fails the test when a workflow asks for an activity on a queue whose workers do not know it.
func (b *Bench) checkQueue(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
	queue := info.TaskQueue
	if strings.HasPrefix(queue, record.QueueLLM) {
		queue = record.QueueLLM
	}
	if _, ok := workflows.Activities(b.Parts)[queue][info.ActivityType.Name]; !ok {
		b.T.Errorf("the workers of the queue %s do not register the activity %s: add it to Queues of its package", queue, info.ActivityType.Name)
	}
}

// WriteInput writes an input into the bucket and returns the facts of its task.
func (b *Bench) WriteInput(kind string, in lifecycle.Input) record.Facts {
	in.Normalize()
	key := storage.InputKey(b.ID, "test")
	require.NoError(b.T, b.Bucket.PutJSON(b.T.Context(), key, in))
	return record.Facts{ID: b.ID, Kind: kind, Tenant: "acme", Lineage: TaskID, Priority: 3, CreatedAt: b.Env.Now(), InputKey: key}
}

// Summary writes the input of a summary task and returns its facts.
func (b *Bench) Summary(in task.SummaryInput) record.Facts { return b.WriteInput("summary", &in) }

// Run runs a task to its end and returns its last snapshot.
func (b *Bench) Run(facts record.Facts) record.Snapshot {
	b.Execute(facts.Kind, record.Start[struct{}]{Facts: facts})
	require.True(b.T, b.Env.IsWorkflowCompleted())
	return b.State()
}

// Execute runs a workflow with the parts as they are now.
func (b *Bench) Execute(workflowType string, start any) {
	if !b.mocked {
		b.registerActivities()
	}
	b.Env.ExecuteWorkflow(workflowType, start)
}

// Mock replaces an activity that takes one request.
func (b *Bench) Mock(name string) *testsuite.MockCallWrapper {
	b.mocked = true
	return b.Env.OnActivity(name, mock.Anything, mock.Anything)
}

// State returns the last snapshot of the task.
func (b *Bench) State() record.Snapshot {
	value, err := b.Env.QueryWorkflow(record.QueryStatus)
	require.NoError(b.T, err)
	var s record.Snapshot
	require.NoError(b.T, value.Get(&s))
	return s
}

// Items returns the item list of the ended task.
func (b *Bench) Items() []task.Item {
	data, err := b.Bucket.Get(b.T.Context(), storage.ItemsKey(b.ID))
	require.NoError(b.T, err)
	var items []task.Item
	for line := range strings.Lines(string(data)) {
		var item task.Item
		require.NoError(b.T, json.Unmarshal([]byte(line), &item))
		items = append(items, item)
	}
	return items
}

// ReadResult reads the result of the ended task.
func (b *Bench) ReadResult(result any) {
	require.NoError(b.T, b.Bucket.GetJSON(b.T.Context(), storage.ResultKey(b.ID), result))
}

// Price gives every token a price, in whole units of money.
func (b *Bench) Price(each float64) {
	p := b.Parts.Call.Router.Providers()[0]
	table, err := router.New("test-model", &router.Provider{Name: p.Name, Model: p.Model, Lane: p.Lane, Models: []router.Model{
		{Name: "test-model", Price: &router.Price{Input: each * 1e6, Cached: each * 1e6, Output: each * 1e6, Currency: "USD"}},
	}})
	require.NoError(b.T, err)
	b.Parts.Call.Router = table
	b.Parts.Kinds = workflows.Inputs{Priced: func(kind, model string) bool { return kind != record.KindEmbed && table.Priced(model) }}
}

// OpenGate admits every call at once. The clock of a workflow environment skips hours; the clock of a lane does not.
type OpenGate struct{}

// Enter admits a call.
func (OpenGate) Enter(ctx context.Context, of lane.Caller, tokens int, patience time.Duration) (*lane.Pass, error) {
	return lane.New(lane.Limits{}).Enter(ctx, of, tokens, patience)
}
