package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/pflag"

	"longhaul/internal/cluster"
	"longhaul/internal/config"
	"longhaul/internal/document"
	"longhaul/internal/metrics"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// Main reads the configuration, runs a role until SIGINT or SIGTERM and returns the exit code: 0, 1 for a failed role, 2 for an invalid
// configuration. A second signal ends the process at once.
func Main(role func(ctx context.Context, a *App) error) int {
	document.ServeIfChild()
	cfg, err := config.Load(config.Source{Args: os.Args[1:], Env: os.Environ()})
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := Signals()
	defer stop()
	if err := run(ctx, cfg, role); err != nil {
		fmt.Fprintln(os.Stderr, "longhaul:", err)
		return 1
	}
	return 0
}

// Signals returns a context that ends at the first SIGINT or SIGTERM. A second signal ends the process at once.
func Signals() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func run(ctx context.Context, cfg config.Config, role func(context.Context, *App) error) error {
	a, err := Open(ctx, cfg, cluster.Options{})
	if err != nil {
		return err
	}
	defer a.Close()
	return role(ctx, a)
}

// App holds what all roles of a process share.
type App struct {
	Config   config.Config
	Log      *slog.Logger
	Bucket   *storage.Bucket
	Temporal *cluster.Connection
	Metrics  *metrics.Metrics // always counted; served only if the configuration enables metrics

	pollers   cluster.Pollers
	prepareMu sync.Mutex
	prepared  bool // guarded by prepareMu
}

// Open opens the bucket and a connection to Temporal. It does not wait for either to answer; Close releases both.
func Open(ctx context.Context, cfg config.Config, opts cluster.Options) (*App, error) {
	log := NewLog(cfg.Log)
	bucket, err := storage.Open(ctx, cfg.BucketURL)
	if err != nil {
		return nil, err
	}
	counters := metrics.New(modelNames(cfg.LLM)...)
	opts.Log, opts.Payloads, opts.Metrics = log, cluster.Payloads(bucket), counters.Temporal()
	temporal, err := cluster.Connect(opts)
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return &App{Config: cfg, Log: log, Bucket: bucket, Temporal: temporal, Metrics: counters}, nil
}

// modelNames returns the names of all configured models, which are the values of the label model in metrics.
func modelNames(cfg config.LLM) []string {
	names := []string{cfg.Model, cfg.EmbeddingModel}
	for _, p := range cfg.All() {
		for _, m := range p.Models {
			names = append(names, m.Name, m.As)
		}
	}
	return names
}

// Close closes the connections that Open opened.
func (a *App) Close() {
	a.Temporal.Close()
	if err := a.Bucket.Close(); err != nil {
		a.Log.Warn("closing the bucket failed", "error", err)
	}
}

// prepare waits for Temporal and registers the search attributes that lists need. It does so once for all roles of a process; after an error
// the next call tries again.
func (a *App) prepare(ctx context.Context) error {
	a.prepareMu.Lock()
	defer a.prepareMu.Unlock()
	if a.prepared {
		return nil
	}
	if err := a.Temporal.Wait(ctx); err != nil {
		return err
	}
	err := a.Temporal.EnsureSearchAttributes(ctx, record.AttrTenant, record.AttrKind, record.AttrState, record.AttrLabels)
	a.prepared = err == nil
	return err
}

// NewLog creates the configured logger, which writes to standard error.
func NewLog(cfg config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // config.Load accepts only levels of slog
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
