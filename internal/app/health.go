package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"longhaul/internal/task"
)

// serveHealth serves the health checks and metrics of a worker until ctx ends; without a configured address it only waits. /healthz answers 200 if
// Temporal and the bucket can be reached, /readyz if the worker polls for work as well; otherwise both answer 503 with the reason.
func (a *App) serveHealth(ctx context.Context) error {
	if a.Config.Worker.Listen == "" {
		<-ctx.Done()
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.Config.Worker.Listen)
	if err != nil {
		return fmt.Errorf("listen for health checks: %w (choose another address with --worker-listen)", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.healthHandler(a.checkConnections))
	mux.HandleFunc("GET /readyz", a.healthHandler(a.checkPolling))
	if a.Config.Metrics {
		mux.Handle("GET /metrics", a.Metrics.Handler())
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// healthHandler answers with the result of a check. The detail of a task.Error goes to the client, its cause only to the log.
func (a *App) healthHandler(check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
			a.Log.Warn("health check failed", "error", err, "cause", errors.Unwrap(err))
			http.Error(w, task.AsError(err).Detail, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// checkConnections returns an error if Temporal or the bucket cannot be reached.
func (a *App) checkConnections(ctx context.Context) error {
	if err := a.Temporal.Check(ctx); err != nil {
		return task.Errorf(task.Unavailable, "Temporal cannot be reached; the log has the cause").Because(err)
	}
	if err := a.Bucket.Check(ctx); err != nil {
		return task.Errorf(task.Unavailable, "the bucket cannot be reached; the log has the cause").Because(err)
	}
	return nil
}

// checkPolling returns an error if this worker does not poll for work, which it can fail to do while all connections are fine.
func (a *App) checkPolling(ctx context.Context) error {
	if err := a.checkConnections(ctx); err != nil {
		return err
	}
	pollers, err := a.workflowPollers(ctx)
	if err != nil {
		return task.Errorf(task.Unavailable, "Temporal does not report the pollers of the workflow queue").Because(err)
	}
	if !a.pollers.Live(pollers)[a.Temporal.Identity] {
		return task.Errorf(task.Unavailable, "this worker has not polled Temporal for work lately, so tasks wait; restart the worker if this persists")
	}
	return nil
}
