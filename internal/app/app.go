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

// Main is the whole of a main: it reads the configuration, runs a role until SIGINT or SIGTERM, and
// gives the exit code. A second signal ends the process at once.
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

// Signals gives a context that ends at the first SIGINT or SIGTERM. From then on a second one has
// its usual effect: the process ends at once.
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

// App is what all roles share.
type App struct {
	Config   config.Config
	Log      *slog.Logger
	Bucket   *storage.Bucket
	Temporal *cluster.Connection
	Metrics  *metrics.Metrics // counted in any case; told if the configuration says so

	workers   cluster.Pollers
	preparing sync.Mutex
	prepared  bool
}

// Open opens the bucket and the way to Temporal; it waits for neither to answer.
func Open(ctx context.Context, cfg config.Config, opts cluster.Options) (*App, error) {
	log := NewLog(cfg.Log)
	bucket, err := storage.Open(ctx, cfg.BucketURL)
	if err != nil {
		return nil, err
	}
	numbers := metrics.New(modelNames(cfg.LLM)...)
	opts.Log, opts.Payloads, opts.Metrics = log, cluster.Payloads(bucket), numbers.Temporal()
	temporal, err := cluster.Connect(opts)
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return &App{Config: cfg, Log: log, Bucket: bucket, Temporal: temporal, Metrics: numbers}, nil
}

// modelNames are the models that have numbers of their own: those that are configured.
func modelNames(cfg config.LLM) []string {
	names := []string{cfg.Model, cfg.EmbeddingModel}
	for _, p := range cfg.All() {
		for _, m := range p.Models {
			names = append(names, m.Name, m.As)
		}
	}
	return names
}

// Close gives back what Open took.
func (a *App) Close() {
	a.Temporal.Close()
	if err := a.Bucket.Close(); err != nil {
		a.Log.Warn("bucket not closed", "error", err)
	}
}

// ready waits for Temporal, and for the search attributes that lists need. Of several roles in one
// process only the first does the work.
func (a *App) ready(ctx context.Context) error {
	a.preparing.Lock()
	defer a.preparing.Unlock()
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

// NewLog makes the log that a configuration asks for, on standard error.
func NewLog(cfg config.Log) *slog.Logger {
	var level slog.Level
	// The configuration admits only names that slog knows.
	_ = level.UnmarshalText([]byte(cfg.Level))
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
