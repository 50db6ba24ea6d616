package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// tellHealth says under /healthz whether the worker can work, until ctx ends: 200, or 503 with the
// reason. A process that runs and cannot reach Temporal or the bucket is not healthy. Without an
// address it tells nobody.
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
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := errors.Join(a.Temporal.Check(r.Context()), a.Bucket.Check(r.Context())); err != nil {
			a.Log.Warn("worker cannot work", "error", err)
			http.Error(w, "Temporal or the bucket cannot be reached; the log tells more", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
