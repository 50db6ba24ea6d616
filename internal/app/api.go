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

// ServeAPI serves the HTTP API on a listener until ctx ends. It answers from the first moment on:
// while Temporal cannot be reached, with 503.
func (a *App) ServeAPI(ctx context.Context, listener net.Listener) error {
	prepared := make(chan struct{})
	go func() {
		if err := a.ready(ctx); err == nil {
			close(prepared)
		} else if ctx.Err() == nil {
			a.Log.Error("no tasks can be taken", "error", err)
		}
	}()
	table, err := a.router()
	if err != nil {
		return err
	}
	files := storage.NewFiles(a.Bucket)
	go a.sweep(ctx, files)
	keys := map[string]string{}
	for _, k := range a.Config.API.Keys {
		keys[k.Key.Reveal()] = k.Tenant
	}
	var queues []string
	for _, p := range table.Providers() {
		queues = append(queues, p.Queue)
	}
	tasks := engine.New(engine.Parts{
		Queues:       queues,
		StalledAfter: a.Config.API.StalledAfter,
		Client:       a.Temporal.Client, Namespace: a.Temporal.Namespace, Bucket: a.Bucket, UIURL: a.Config.TemporalUIURL, Prepared: prepared,
		Queue:  func(model string) string { return table.Targets(model)[0].Queue },
		Priced: a.priced(table), Mail: a.Config.SMTP.Host != "",
	})
	var hints server.Hints
	if a.Config.API.PublicURL != "" {
		hints = tasks
	}
	var numbers http.Handler
	if a.Config.Metrics {
		a.Metrics.Watch(func() []metrics.Sample { return standing(ctx, tasks) })
		numbers = a.Metrics.Handler()
	}
	handler, err := server.New(server.Parts{
		Meter: a.Metrics, Metrics: numbers,
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

// standing is what stands at the moment: the queues, and the tasks that no worker can go on with.
func standing(ctx context.Context, tasks *engine.Engine) []metrics.Sample {
	var all []metrics.Sample
	for _, q := range tasks.Installation(ctx).Queues {
		all = append(all,
			metrics.Sample{Name: "queue_backlog", Help: "Steps that wait for a worker.", Label: "queue", Of: q.Name, Value: float64(q.Backlog)},
			metrics.Sample{Name: "queue_oldest_seconds", Help: "How long the first of them has waited.", Label: "queue", Of: q.Name, Value: q.Oldest})
	}
	if n, err := tasks.Blocked(ctx); err == nil {
		all = append(all, metrics.Sample{Name: "tasks_blocked", Help: "Tasks that the workers that run cannot go on with.", Value: float64(n)})
	}
	return all
}

// uploadAge is how old a half upload is before it cannot be one in progress.
const uploadAge = 24 * time.Hour

func (a *App) sweep(ctx context.Context, files storage.Files) {
	if err := files.SweepUploads(ctx, time.Now().Add(-uploadAge)); err != nil && ctx.Err() == nil {
		a.Log.Warn("broken-off uploads not swept", "error", err)
	}
}

// Kinds describes every kind to the API.
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
