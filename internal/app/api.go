package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"longhaul/api/server"
	"longhaul/internal/engine"
	"longhaul/internal/metrics"
	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// RunAPI serves the HTTP API until ctx ends.
func RunAPI(ctx context.Context, a *App) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.Config.API.Listen)
	if err != nil {
		return fmt.Errorf("listen for the API: %w (choose another address with --api-listen)", err)
	}
	return a.ServeAPI(ctx, listener)
}

// ServeAPI serves the HTTP API on a listener until ctx ends. It does not wait for Temporal: until the namespace is prepared it answers with 503.
func (a *App) ServeAPI(ctx context.Context, listener net.Listener) error {
	prepared := make(chan struct{})
	go func() {
		if err := a.prepare(ctx); err == nil {
			close(prepared)
		} else if ctx.Err() == nil {
			a.Log.Error("the Temporal namespace cannot be prepared; the API accepts no tasks", "error", err)
		}
	}()
	models, err := a.router()
	if err != nil {
		return err
	}
	files := storage.NewFiles(a.Bucket)
	go a.sweepUploads(ctx, files)
	keys := map[string]string{}
	for _, k := range a.Config.API.Keys {
		keys[k.Key.Reveal()] = k.Tenant
	}
	var queues []string
	for _, p := range models.Providers() {
		queues = append(queues, p.Queue)
	}
	tasks := engine.New(engine.Parts{
		Queues:       queues,
		StalledAfter: a.Config.API.StalledAfter,
		Client:       a.Temporal.Client, Namespace: a.Temporal.Namespace, Bucket: a.Bucket, UIURL: a.Config.TemporalUIURL, Prepared: prepared,
		Queue:  func(model string) string { return models.Targets(model)[0].Queue },
		Priced: a.priced(models), Mail: a.Config.SMTP.Host != "",
	})
	var hints server.Hints
	if a.Config.API.PublicURL != "" {
		hints = tasks
	}
	var scrape http.Handler
	if a.Config.Metrics {
		a.Metrics.Watch(func() []metrics.Sample { return systemSamples(ctx, tasks) })
		scrape = a.Metrics.Handler()
	}
	handler, err := server.New(server.Parts{
		Meter: a.Metrics, Metrics: scrape,
		Tasks: tasks, Hints: hints, Webhooks: tasks,
		Files: files, Kinds: Kinds(), Keys: keys, Log: a.Log, Version: task.Version,
		Heartbeat: a.Config.API.Heartbeat,
		Limits:    server.Limits{MaxBody: int64(a.Config.API.MaxBody), MaxUpload: int64(a.Config.API.MaxUpload)},
	})
	if err != nil {
		return err
	}
	a.Log.Info("API listens", "address", listener.Addr().String())
	return server.Serve(ctx, listener, handler, a.Log)
}

// systemSamples returns the metrics that are read from Temporal at each scrape: task queues and blocked tasks.
func systemSamples(ctx context.Context, tasks *engine.Engine) []metrics.Sample {
	var samples []metrics.Sample
	for _, q := range tasks.Installation(ctx).Queues {
		samples = append(samples,
			metrics.Sample{Name: "queue_backlog", Help: "Activities or workflow tasks that wait for a worker.", Label: "queue", Of: q.Name, Value: float64(q.Backlog)},
			metrics.Sample{Name: "queue_oldest_seconds", Help: "Age of the oldest waiting activity or workflow task in seconds.", Label: "queue", Of: q.Name, Value: q.Oldest})
	}
	if n, err := tasks.Blocked(ctx); err == nil {
		samples = append(samples, metrics.Sample{Name: "tasks_blocked", Help: "Tasks that the running workers cannot continue.", Value: float64(n)})
	}
	return samples
}

// abandonedUploadAge is the age after which an incomplete upload cannot be in progress.
const abandonedUploadAge = 24 * time.Hour

// sweepUploads deletes abandoned uploads, once at start.
func (a *App) sweepUploads(ctx context.Context, files storage.Files) {
	if err := files.SweepUploads(ctx, time.Now().Add(-abandonedUploadAge)); err != nil && ctx.Err() == nil {
		a.Log.Warn("deleting abandoned uploads failed", "error", err)
	}
}

// Kinds describes every kind of task for the API.
func Kinds() []task.KindInfo {
	var infos []task.KindInfo
	for _, k := range workflows.Kinds() {
		infos = append(infos, task.KindInfo{
			Name: k.Name, Title: k.Title, Description: k.Description, Steps: k.Steps,
			InputSchema: schema.Of(k.Input()), Example: json.RawMessage(k.Example),
		})
	}
	return infos
}
