package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/documents"
	notifyacts "longhaul/activities/notify"
	"longhaul/activities/results"
	"longhaul/internal/cutoff"
	"longhaul/internal/document"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/storage"
	"longhaul/workflows"
)

// RunWorker works until ctx ends. Calls in hand then have stop_timeout to finish; what has not is
// handed to another worker.
func RunWorker(ctx context.Context, a *App) error {
	collectLess()
	parts, end, err := a.parts(ctx) // before Temporal answers: what is wrong with the configuration is told at once
	if err != nil {
		return err
	}
	defer end()
	if err := a.ready(ctx); err != nil {
		return quiet(ctx, err)
	}
	notify, err := a.notices()
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	pools := a.pools(workflows.Activities(parts), notify, fail)
	for i, pool := range pools {
		if err := pool.Start(); err != nil {
			stopAll(pools[:i])
			return fmt.Errorf("start worker: %w", err)
		}
	}
	a.Log.Info("worker runs", "temporal", a.Temporal.Address, "namespace", a.Temporal.Namespace, "providers", names(a.Config.LLM.All()))
	err = a.tellHealth(ctx)
	a.Log.Info("worker stops: no new work is taken; what is in hand may go on", "stop_timeout", a.Config.Worker.StopTimeout)
	stopAll(pools)
	if lost, ok := errors.AsType[*fatal](context.Cause(ctx)); ok {
		err = errors.Join(err, lost)
	}
	return err
}

// collectLess lets the heap grow to three times what is in use, not to twice, before it is collected: what a worker holds is small beside what it
// lets go of. GOGC says otherwise.
func collectLess() {
	if _, said := os.LookupEnv("GOGC"); !said {
		debug.SetGCPercent(200)
	}
}

// fatal is why a worker stopped by itself. A process that does no work had better end: whoever runs it starts it again.
type fatal struct{ error }

// pools makes a worker for each task queue, with the activities that belong there. Fail is called when a worker stops
// by itself.
func (a *App) pools(queues map[string]map[string]any, notify *notifyacts.Activities, fail context.CancelCauseFunc) []worker.Worker {
	var pools []worker.Worker
	open := func(queue string, slots int, acts map[string]any) worker.Worker {
		options := a.options(slots)
		options.OnFatalError = func(err error) { fail(&fatal{fmt.Errorf("a worker stopped by itself: %w", err)}) }
		pool := worker.New(a.Temporal.Client, queue, options)
		for name, act := range acts {
			pool.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
		}
		pools = append(pools, pool)
		return pool
	}
	workflows.Register(open(record.QueueWorkflows, 1, nil))
	open(record.QueueDocuments, a.Config.Worker.DocumentsConcurrency, queues[record.QueueDocuments])
	open(record.QueueTools, a.Config.Worker.ToolsConcurrency, queues[record.QueueTools])
	for i, p := range a.Config.LLM.All() {
		open(queue(i, p), a.concurrency(p), queues[record.QueueLLM])
	}
	open(record.QueueVideo, a.Config.Video.Concurrency, queues[record.QueueVideo])
	open(record.QueueNotify, a.Config.Notify.Concurrency, activities.ByQueue([]activities.Queued{notify})[record.QueueNotify])
	return pools
}

func (a *App) options(slots int) worker.Options {
	return worker.Options{
		MaxConcurrentActivityExecutionSize: slots,
		// Eager activities would pass by priority, fairness and limits.
		DisableEagerActivities: true,
		// Two pollers, the default, start a batch slowly and cost a tenth of its speed.
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		// How long a heartbeat may be held back after another: a call that begins is told of within this.
		MaxHeartbeatThrottleInterval: 200 * time.Millisecond,
		// How long a task waits for a worker that was killed, before another takes it.
		StickyScheduleToStartTimeout: 2 * time.Second,
		WorkerStopTimeout:            a.Config.Worker.StopTimeout,
		DeploymentOptions:            a.deployment(),
		Interceptors:                 a.interceptors(),
	}
}

// interceptors stand around every activity, the first one outside: a pause must not end what runs, and a step that ignores the end of its time
// must not keep its slot.
func (a *App) interceptors() []interceptor.WorkerInterceptor {
	stop := a.Config.Worker.StopTimeout - handOver(a.Config.Worker.StopTimeout)
	guard := cutoff.New(cutoff.Options{Grace: a.Config.Worker.CutOffAfter, Stop: stop, Meter: a.Metrics, Log: a.Log})
	return []interceptor.WorkerInterceptor{&call.PauseGuard{}, guard}
}

// handOver is the end of stop_timeout, in which what was cut off is handed back to Temporal.
func handOver(stopTimeout time.Duration) time.Duration { return min(2*time.Second, stopTimeout/2) }

// deployment says which version this worker is of what, if it was told. A task then ends on the version that began it:
// docs/upgrading.md.
func (a *App) deployment() worker.DeploymentOptions {
	cfg := a.Config.Worker
	if cfg.Deployment == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning: true, DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
		Version: worker.WorkerDeploymentVersion{DeploymentName: cfg.Deployment, BuildID: cfg.BuildID},
	}
}

// stopAll stops all pools at once, so that stop_timeout counts once.
func stopAll(pools []worker.Worker) {
	var all sync.WaitGroup
	for _, pool := range pools {
		all.Go(pool.Stop)
	}
	all.Wait()
}

// parts makes what the activities are built from. Call end when the workers have stopped.
func (a *App) parts(ctx context.Context) (p activities.Parts, end func(), err error) {
	scratch, err := a.scratch()
	if err != nil {
		return p, nil, err
	}
	table, err := a.router()
	if err != nil {
		return p, nil, err
	}
	gates, stopModel, err := a.connect(ctx, table)
	if err != nil {
		return p, nil, err
	}
	renderer, door, stopVideos, err := a.videos(ctx)
	if err != nil {
		stopModel()
		return p, nil, err
	}
	stopTending := a.tend(ctx, append(gates, door))
	reader := document.NewExtractor(document.Options{
		Workers: min(a.Config.Worker.DocumentsConcurrency, runtime.NumCPU()), Log: a.Log,
		CacheDir: a.cacheDir(),
	})
	go a.warm(ctx, reader)
	cfg := a.Config
	fetcher := document.NewFetcher(document.FetchOptions{
		AllowPrivate: cfg.Fetch.AllowPrivate, MaxBytes: int64(cfg.Fetch.MaxBytes), Timeout: cfg.Fetch.Timeout,
	})
	end = func() { stopTending(); stopModel(); stopVideos(); _ = reader.Close() }
	kit, err := a.kit(fetcher, reader, scratch)
	if err != nil {
		end()
		return p, nil, err
	}
	end = func() { _ = kit.Close(); stopTending(); stopModel(); stopVideos(); _ = reader.Close() }
	p = activities.Parts{
		Call: &call.Caller{
			Bucket: a.Bucket, Ledger: storage.NewLedger(a.Bucket), Router: table, MaxAttempts: cfg.LLM.MaxAttempts, Meter: a.Metrics, Log: a.Log,
		},
		Documents: &documents.Library{
			Bucket: a.Bucket, Files: storage.NewFiles(a.Bucket), Reader: reader, Fetcher: fetcher, Scratch: scratch, ChunkTokens: cfg.LLM.ChunkTokens,
		},
		Results: &results.Store{Bucket: a.Bucket},
		Bucket:  a.Bucket, Files: storage.NewFiles(a.Bucket), Embedding: cfg.LLM.EmbeddingModel, ContextTokens: cfg.LLM.ContextTokens,
		Indexes: &retrieval.Cache{}, Renderer: renderer, Tools: kit, Kinds: workflows.Inputs{Priced: a.priced(table)}, Log: a.Log,
	}
	return p, end, nil
}

// cacheDir is where the compiled PDF engine is kept: with the user's other caches, so that a new data
// folder does not have to compile it again, or with the data where there is no such place.
func (a *App) cacheDir() string {
	if root, err := os.UserCacheDir(); err == nil {
		if dir := filepath.Join(root, "longhaul", "pdf"); os.MkdirAll(dir, 0o700) == nil {
			return dir
		}
	}
	return filepath.Join(a.Config.DataDir, "cache", "pdf")
}

// warm compiles the PDF engine before the first PDF asks for it.
func (a *App) warm(ctx context.Context, reader *document.Extractor) {
	if err := reader.Warm(ctx); err != nil && ctx.Err() == nil {
		a.Log.Warn("PDF engine not warmed; the first PDF will take longer", "error", err)
	}
}

// scratch gives a folder for documents while they are read, and removes from it what a killed worker
// left a day ago or earlier.
func (a *App) scratch() (string, error) {
	root := filepath.Join(a.Config.DataDir, "scratch")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(root)
	for _, entry := range entries {
		// A document is read within minutes: what is older than a day belongs to nobody.
		if info, statErr := entry.Info(); statErr == nil && time.Since(info.ModTime()) > 24*time.Hour {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, entry.Name())))
		}
	}
	return root, err
}

// quiet turns the error of something that was interrupted by the end of ctx into none.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
