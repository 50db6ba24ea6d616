package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"longhaul/activities"
	"longhaul/internal/document"
	"longhaul/internal/lane"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

func TestMain(m *testing.M) {
	document.ServeIfChild()
	os.Exit(m.Run())
}

// bench is a workflow environment with the real activities on a bucket in memory, over a scripted
// provider.
type bench struct {
	t        *testing.T
	env      *testsuite.TestWorkflowEnvironment
	provider *llmtest.Provider
	tools    *toolbox
	bucket   *storage.Bucket
	do       *activities.Activities
	id       string // of the task
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, provider: llmtest.New(t), tools: &toolbox{}, id: taskID}
	var err error
	b.bucket, err = storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	model, err := openai.New(openai.Config{Name: "scripted", BaseURL: b.provider.URL(), Key: "k"})
	require.NoError(t, err)
	table, err := router.New("test-model", &router.Provider{Name: "scripted", Model: model, Lane: openGate{}})
	require.NoError(t, err)
	reader := document.NewExtractor(document.Options{Workers: 2})
	t.Cleanup(func() { _ = reader.Close() })
	b.do = &activities.Activities{
		Bucket: b.bucket, Ledger: storage.NewLedger(b.bucket), Files: storage.NewFiles(b.bucket),
		Router: table, Embedding: "test-embedding", Reader: reader, Fetcher: document.NewFetcher(document.FetchOptions{}),
		Tools: b.tools, Inputs: workflows.Inputs{}, ContextTokens: 2000,
		Scratch: t.TempDir(), ChunkTokens: 200, MaxAttempts: 3, Log: slog.New(slog.DiscardHandler),
	}
	b.renew()
	return b
}

// renew starts a new environment on the same bucket, as a replay or a restart would.
func (b *bench) renew() {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	b.env = suite.NewTestWorkflowEnvironment()
	b.env.SetTestTimeout(time.Minute)
	b.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: b.id})
	workflows.Register(b.env)
	b.env.RegisterActivity(b.do)
}

const taskID = "task_aaaaaaaaaaaaaaaaaaaaaaaaaa"

// start gives the facts of a summary task.
func (b *bench) start(in task.SummaryInput) workflows.Facts { return b.lay("summary", &in) }

// lay lays the input down and gives the facts of a task.
func (b *bench) lay(kind string, in workflows.Input) workflows.Facts {
	in.Normalize()
	key := storage.InputKey(b.id, "test")
	require.NoError(b.t, b.bucket.PutJSON(b.t.Context(), key, in))
	return workflows.Facts{ID: b.id, Kind: kind, Tenant: "acme", Lineage: taskID, Priority: 3, CreatedAt: b.env.Now(), InputKey: key}
}

// run runs a task to its end and gives its last snapshot.
func (b *bench) run(facts workflows.Facts) workflows.Snapshot {
	b.env.ExecuteWorkflow(facts.Kind, workflows.Start{Facts: facts})
	require.True(b.t, b.env.IsWorkflowCompleted())
	return b.state()
}

// state is the last snapshot of the task that ran.
func (b *bench) state() workflows.Snapshot {
	value, err := b.env.QueryWorkflow(workflows.QueryStatus)
	require.NoError(b.t, err)
	var s workflows.Snapshot
	require.NoError(b.t, value.Get(&s))
	return s
}

func (b *bench) items() []task.Item {
	data, err := b.bucket.Get(b.t.Context(), storage.ItemsKey(b.id))
	require.NoError(b.t, err)
	var items []task.Item
	for line := range strings.Lines(string(data)) {
		var item task.Item
		require.NoError(b.t, json.Unmarshal([]byte(line), &item))
		items = append(items, item)
	}
	return items
}

func (b *bench) output() activities.SummaryOutput {
	var out activities.SummaryOutput
	require.NoError(b.t, b.bucket.GetJSON(b.t.Context(), storage.ResultKey(b.id), &out))
	return out
}

// texts makes n short documents, each with a marker of its own: [doc-000] and so on.
func texts(n int) []task.Document {
	documents := make([]task.Document, n)
	for i := range documents {
		documents[i].Text = fmt.Sprintf("Report %s. The bridge was inspected and found sound.", marker(i))
	}
	return documents
}

func marker(i int) string { return fmt.Sprintf("[doc-%03d]", i) }

// long makes a text of about so many parts of 200 tokens; part i holds the marker [part-i].
func long(parts int) string {
	var b strings.Builder
	for i := range parts {
		fmt.Fprintf(&b, "# Section [part-%03d]\n\n", i)
		for range 11 {
			b.WriteString("The keeper climbed the stairs at dusk and lit the lamp above the sea. ")
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

func part(i int) string { return fmt.Sprintf("[part-%03d]", i) }

// openGate lets every call in at once. The clock of a workflow environment skips hours, that of a lane
// does not.
type openGate struct{}

func (openGate) Enter(ctx context.Context, of lane.Caller, tokens int, patience time.Duration) (*lane.Pass, error) {
	return lane.New(lane.Limits{}).Enter(ctx, of, tokens, patience)
}

// price gives every token a price, in whole units of money.
func (b *bench) price(t *testing.T, each float64) {
	t.Helper()
	p := b.do.Router.Providers()[0]
	table, err := router.New("test-model", &router.Provider{Name: p.Name, Model: p.Model, Lane: p.Lane, Models: []router.Model{
		{Name: "test-model", Price: &router.Price{Input: each * 1e6, Cached: each * 1e6, Output: each * 1e6, Currency: "USD"}},
	}})
	require.NoError(t, err)
	b.do.Router = table
	b.do.Inputs = workflows.Inputs{Priced: func(kind, model string) bool { return kind != workflows.KindEmbed && table.Priced(model) }}
}
