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

// tellHealth says until ctx ends what a worker has to say for itself. /healthz: whether it can work, which it cannot without
// Temporal and the bucket. /readyz: whether it does, which takes that it asks for work as well. Each answers 200, or 503 with the
// reason. /metrics has the numbers. Without an address it tells nobody.
func (a *App) tellHealth(ctx context.Context) error {
	if a.Config.Worker.Listen == "" {
		<-ctx.Done()
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.Config.Worker.Listen)
	if err != nil {
		return fmt.Errorf("listen for health checks: %w (choose another address with --worker-listen)", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", a.tell(a.able))
	mux.HandleFunc("GET /readyz", a.tell(a.working))
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

// tell answers with what a check finds. The words of a task.Error are for everybody, its cause is for the log.
func (a *App) tell(check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
			a.Log.Warn("worker cannot work", "error", err, "cause", errors.Unwrap(err))
			http.Error(w, task.AsError(err).Detail, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// able finds out whether this worker can reach what it needs.
func (a *App) able(ctx context.Context) error {
	if err := a.Temporal.Check(ctx); err != nil {
		return task.Errorf(task.Unavailable, "Temporal cannot be reached; the log tells more").Because(err)
	}
	if err := a.Bucket.Check(ctx); err != nil {
		return task.Errorf(task.Unavailable, "the bucket cannot be reached; the log tells more").Because(err)
	}
	return nil
}

// working finds out whether this worker asks for work: a process can run, reach everything, and do nothing.
func (a *App) working(ctx context.Context) error {
	if err := a.able(ctx); err != nil {
		return err
	}
	told, err := a.whoPolls(ctx)
	if err != nil {
		return task.Errorf(task.Unavailable, "Temporal does not tell who asks for work").Because(err)
	}
	if !a.workers.Live(told)[a.Temporal.Identity] {
		return task.Errorf(task.Unavailable, "this worker has not asked Temporal for work lately, so tasks wait; if that lasts, start it again")
	}
	return nil
}
