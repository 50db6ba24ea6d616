package e2e

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/cluster"
	"longhaul/internal/cutoff"
	"longhaul/internal/document"
	"longhaul/internal/lane"
	"longhaul/internal/llm/openai"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/tool"
	"longhaul/workflows"
)

// stubbornTools is a tool kit whose first call ignores its context and returns when the test releases it.
type stubbornTools struct {
	*tool.Kit
	calls   atomic.Int64
	began   chan struct{}
	release chan struct{}
	late    chan struct{}
}

// Run runs a tool call.
func (d *stubbornTools) Run(ctx context.Context, def tool.Definition, call tool.Call) (tool.Result, error) {
	if d.calls.Add(1) > 1 {
		return d.Kit.Run(ctx, def, call)
	}
	close(d.began)
	<-d.release // stands for an endless loop
	defer close(d.late)
	return tool.Result{Text: "a late result"}, nil
}

// cutoffMeter counts the steps that were cut off and the goroutines that are stuck.
type cutoffMeter struct{ cut, stuck atomic.Int64 }

func (c *cutoffMeter) CutOff(string)         { c.cut.Add(1) }
func (c *cutoffMeter) Stuck(_ string, n int) { c.stuck.Add(int64(n)) }

// A tool call that ignores its context holds neither its slot nor its task: the task ends, the next task gets the only
// slot, and the late result changes nothing.
func TestCancel_toolThatIgnoresItsContext(t *testing.T) {
	s := newStack(t)
	s.worker.kill()
	kit, err := tool.New(tool.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d := &stubbornTools{Kit: kit, began: make(chan struct{}), release: make(chan struct{}), late: make(chan struct{})}
	meter := &cutoffMeter{}
	s.workHere(d, meter)
	s.scriptTurns(callCalculator("6*7"), finalAnswer("Forty-two."))
	calculate := task.AgentInput{Goal: "compute", Tools: []task.ToolSpec{{Builtin: "calculator"}}}

	id := s.submitAgent(calculate)
	<-d.began
	_, err = s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.EqualValues(t, 1, meter.cut.Load())
	require.EqualValues(t, 1, meter.stuck.Load())

	next := s.finish(s.submitAgent(calculate))
	require.Equal(t, task.Succeeded, next.Status, "the only slot is free: %v", next.Error)

	close(d.release)
	<-d.late
	require.Eventually(t, func() bool { return meter.stuck.Load() == 0 }, 30*time.Second, 10*time.Millisecond)
	after, err := s.client.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, done.Revision, after.Revision)
	require.Equal(t, done.Result, after.Result)
}

// workHere runs a worker in the test process, with its own tools and one tool slot.
func (s *stack) workHere(tools activities.Toolbox, meter cutoff.Meter) {
	log := slog.New(slog.DiscardHandler)
	bucket, err := storage.Open(s.t.Context(), "file://"+filepath.Join(s.dir, "bucket"))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = bucket.Close() })
	model, err := openai.New(openai.Config{
		Name: "p", BaseURL: s.provider.URL(), Key: "k", IdleTimeout: time.Minute, TotalTimeout: time.Minute, Log: log,
	})
	require.NoError(s.t, err)
	table, err := router.New("m", &router.Provider{Name: "p", Queue: record.QueueLLM, Model: model, Lane: lane.New(lane.Limits{})})
	require.NoError(s.t, err)
	files, store := storage.NewFiles(bucket), &results.Store{Bucket: bucket}
	acts := workflows.Activities(activities.Parts{
		Call: &call.Caller{Bucket: bucket, Ledger: storage.NewLedger(bucket), Router: table, MaxAttempts: 1, Log: log},
		Documents: &documents.Library{
			Bucket: bucket, Files: files, Results: store, Reader: document.NewExtractor(document.Options{Workers: 1, Log: log}),
			Fetcher: document.NewFetcher(document.FetchOptions{}), Scratch: s.t.TempDir(), ChunkTokens: 1000,
		},
		Results: store, Bucket: bucket, Files: files, ContextTokens: 10_000, Indexes: &retrieval.Cache{},
		Tools: tools, Kinds: workflows.Inputs{}, Log: log,
	})
	c, err := cluster.Connect(cluster.Options{Address: s.temporal.Address, Log: log, Payloads: cluster.Payloads(bucket)})
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	for _, queue := range []string{record.QueueWorkflows, record.QueueDocuments, record.QueueLLM, record.QueueTools} {
		pool := worker.New(c.Client, queue, worker.Options{
			MaxConcurrentActivityExecutionSize: 1, DisableEagerActivities: true, MaxHeartbeatThrottleInterval: 200 * time.Millisecond,
			Interceptors: []interceptor.WorkerInterceptor{cutoff.New(cutoff.Options{Grace: time.Second, Meter: meter, Log: log})},
		})
		if strings.HasSuffix(queue, "workflows") {
			workflows.Register(pool)
		}
		for name, act := range acts[queue] {
			pool.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
		}
		require.NoError(s.t, pool.Start())
		s.t.Cleanup(pool.Stop)
	}
}
