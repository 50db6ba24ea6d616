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

// RunWorker runs the workers of all task queues until ctx ends or one of them fails for good. Running calls then have stop_timeout to finish; other
// calls are handed back to Temporal and run on another worker.
func RunWorker(ctx context.Context, a *App) error {
	raiseGCPercent()
	parts, end, err := a.activityParts(ctx) // before Temporal answers, so that errors in the configuration show at once
	if err != nil {
		return err
	}
	defer end()
	if err := a.prepare(ctx); err != nil {
		return ignoreAfterEnd(ctx, err)
	}
	notify, err := a.notifyActivities()
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
	a.Log.Info("worker started", "temporal", a.Temporal.Address, "namespace", a.Temporal.Namespace, "providers", providerNames(a.Config.LLM.All()))
	err = a.serveHealth(ctx)
	a.Log.Info("worker is stopping: it takes no new work, and running calls may finish", "stop_timeout", a.Config.Worker.StopTimeout)
	stopAll(pools)
	if failure, ok := errors.AsType[*fatalError](context.Cause(ctx)); ok {
		err = errors.Join(err, failure)
	}
	return err
}

// raiseGCPercent lets the heap grow to three times its live size instead of twice before a collection, because a worker allocates much and keeps
// little. The environment variable GOGC takes precedence.
func raiseGCPercent() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(200)
	}
}

// fatalError is the error of a worker that stopped by itself. The process then ends, so that its supervisor restarts it.
type fatalError struct{ error }

// pools creates a worker for each task queue, with the activities of that queue. It calls fail when a worker stops by itself.
func (a *App) pools(queues map[string]map[string]any, notify *notifyacts.Activities, fail context.CancelCauseFunc) []worker.Worker {
	var pools []worker.Worker
	add := func(queue string, slots int, acts map[string]any) worker.Worker {
		options := a.options(slots)
		options.OnFatalError = func(err error) { fail(&fatalError{fmt.Errorf("a worker stopped by itself: %w", err)}) }
		pool := worker.New(a.Temporal.Client, queue, options)
		for name, act := range acts {
			pool.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
		}
		pools = append(pools, pool)
		return pool
	}
	workflows.Register(add(record.QueueWorkflows, 1, nil))
	add(record.QueueDocuments, a.Config.Worker.DocumentsConcurrency, queues[record.QueueDocuments])
	add(record.QueueTools, a.Config.Worker.ToolsConcurrency, queues[record.QueueTools])
	for i, p := range a.Config.LLM.All() {
		add(llmQueue(i, p), a.concurrency(p), queues[record.QueueLLM])
	}
	add(record.QueueVideo, a.Config.Video.Concurrency, queues[record.QueueVideo])
	add(record.QueueNotify, a.Config.Notify.Concurrency, activities.ByQueue([]activities.Queued{notify})[record.QueueNotify])
	return pools
}

func (a *App) options(slots int) worker.Options {
	return worker.Options{
		MaxConcurrentActivityExecutionSize: slots,
		// Eager activities bypass priority, fairness and limits.
		DisableEagerActivities: true,
		// With two pollers, the default, a batch starts slowly and takes a tenth longer.
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		// The SDK holds a heartbeat back for so long after the last one, so readers see the start of a call this late at most.
		MaxHeartbeatThrottleInterval: 200 * time.Millisecond,
		// A workflow task waits so long for its last worker, in case that was killed, before another worker takes it.
		StickyScheduleToStartTimeout: 2 * time.Second,
		WorkerStopTimeout:            a.Config.Worker.StopTimeout,
		DeploymentOptions:            a.deployment(),
		Interceptors:                 a.interceptors(),
	}
}

// interceptors returns the interceptors of every activity, outermost first. PauseGuard lets running calls finish during a pause; cutoff frees the slot of
// an activity that ignores its cancellation or timeout.
func (a *App) interceptors() []interceptor.WorkerInterceptor {
	stop := a.Config.Worker.StopTimeout - handOverTime(a.Config.Worker.StopTimeout)
	guard := cutoff.New(cutoff.Options{Grace: a.Config.Worker.CutOffAfter, Stop: stop, Meter: a.Metrics, Log: a.Log})
	return []interceptor.WorkerInterceptor{&call.PauseGuard{}, guard}
}

// handOverTime returns the last part of stop_timeout, in which unfinished activities are handed back to Temporal.
func handOverTime(stopTimeout time.Duration) time.Duration { return min(2*time.Second, stopTimeout/2) }

// deployment returns the worker version, if one is configured. A task then runs to its end on the version that started it: see
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

// stopAll stops all pools at the same time, so that stop_timeout passes only once.
func stopAll(pools []worker.Worker) {
	var all sync.WaitGroup
	for _, pool := range pools {
		all.Go(pool.Stop)
	}
	all.Wait()
}

// activityParts creates the dependencies of the activities. The caller calls end after the workers have stopped.
func (a *App) activityParts(ctx context.Context) (p activities.Parts, end func(), err error) {
	scratch, err := a.scratch()
	if err != nil {
		return p, nil, err
	}
	models, err := a.router()
	if err != nil {
		return p, nil, err
	}
	lanes, stopModels, err := a.connectProviders(ctx, models)
	if err != nil {
		return p, nil, err
	}
	renderer, rendererLane, stopVideos, err := a.videoRenderer(ctx)
	if err != nil {
		stopModels()
		return p, nil, err
	}
	stopLanes := a.maintainLanes(ctx, append(lanes, rendererLane))
	reader := document.NewExtractor(document.Options{
		Workers: min(a.Config.Worker.DocumentsConcurrency, runtime.NumCPU()), Log: a.Log,
		CacheDir: a.cacheDir(),
	})
	go a.warmPDF(ctx, reader)
	cfg := a.Config
	fetcher := document.NewFetcher(document.FetchOptions{
		AllowPrivate: cfg.Fetch.AllowPrivate, MaxBytes: int64(cfg.Fetch.MaxBytes), Timeout: cfg.Fetch.Timeout,
	})
	end = func() { stopLanes(); stopModels(); stopVideos(); _ = reader.Close() }
	kit, err := a.agentTools(fetcher, reader, scratch)
	if err != nil {
		end()
		return p, nil, err
	}
	end = func() { _ = kit.Close(); stopLanes(); stopModels(); stopVideos(); _ = reader.Close() }
	files, store := storage.NewFiles(a.Bucket), &results.Store{Bucket: a.Bucket}
	p = activities.Parts{
		Call: &call.Caller{
			Bucket: a.Bucket, Ledger: storage.NewLedger(a.Bucket), Router: models, MaxAttempts: cfg.LLM.MaxAttempts, Meter: a.Metrics, Log: a.Log,
		},
		Documents: &documents.Library{
			Bucket: a.Bucket, Files: files, Results: store, Reader: reader, Fetcher: fetcher, Scratch: scratch, ChunkTokens: cfg.LLM.ChunkTokens,
		},
		Results: store, Bucket: a.Bucket, Files: files, Embedding: cfg.LLM.EmbeddingModel, ContextTokens: cfg.LLM.ContextTokens,
		Indexes: &retrieval.Cache{}, Renderer: renderer, Tools: kit, Kinds: workflows.Inputs{Priced: a.priced(models)}, Log: a.Log,
	}
	return p, end, nil
}

// cacheDir returns the folder of the compiled PDF engine: in the user's cache, which is kept when the data folder changes, or in the data folder
// if the user has none.
func (a *App) cacheDir() string {
	if root, err := os.UserCacheDir(); err == nil {
		if dir := filepath.Join(root, "longhaul", "pdf"); os.MkdirAll(dir, 0o700) == nil {
			return dir
		}
	}
	return filepath.Join(a.Config.DataDir, "cache", "pdf")
}

// warmPDF compiles the PDF engine before the first PDF is read.
func (a *App) warmPDF(ctx context.Context, reader *document.Extractor) {
	if err := reader.Warm(ctx); err != nil && ctx.Err() == nil {
		a.Log.Warn("compiling the PDF engine in advance failed; the first PDF takes longer", "error", err)
	}
}

// scratch returns the folder for documents that are being read, and deletes files of killed workers from it that are older than a day.
func (a *App) scratch() (string, error) {
	root := filepath.Join(a.Config.DataDir, "scratch")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(root)
	for _, entry := range entries {
		// A document is read within minutes, so no worker uses a file older than a day.
		if info, statErr := entry.Info(); statErr == nil && time.Since(info.ModTime()) > 24*time.Hour {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, entry.Name())))
		}
	}
	return root, err
}

// ignoreAfterEnd returns nil instead of an error once ctx has ended, because the end of ctx caused it.
func ignoreAfterEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
