// Command dev runs all of longhaul on one machine: Temporal with its Web UI as a child process, API and worker in this
// process. Its subcommand kill-demo kills workers while a batch runs and compares the result with the provider's journal.
//
// It starts and connects the parts of other packages; no decision about a task is made here.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/app"
	"longhaul/internal/cluster"
	"longhaul/internal/config"
	"longhaul/internal/document"
	"longhaul/internal/localtemporal"
)

func main() {
	document.ServeIfChild()
	first := ""
	if len(os.Args) > 1 {
		first = os.Args[1]
	}
	switch first {
	case "kill-demo":
		os.Exit(runKillDemo(os.Stdout))
	case "worker": // started by kill-demo
		os.Args = os.Args[1:]
		os.Exit(app.Main(app.RunWorker))
	default:
		os.Exit(start(os.Args[1:], os.Stdout, os.Stderr))
	}
}

// start runs everything until Ctrl-C, which stops the parts in order; a second Ctrl-C exits at once.
func start(args []string, stdout, stderr io.Writer) int {
	ctx, stop := app.Signals()
	defer stop()
	defer context.AfterFunc(ctx, func() { fmt.Fprintln(stdout, "Stopping; press Ctrl-C again to exit at once.") })()
	opts, cfg, err := settings(args, stderr)
	if err == nil {
		err = serve(ctx, opts, cfg, stdout)
	}
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil && ctx.Err() == nil:
		fmt.Fprintln(stderr, "longhaul:", err)
		return 1
	}
	return 0
}

// options are the flags of this program that worker and API lack.
type options struct {
	temporalPort int
	uiPort       int
	memory       bool
	temporalBin  string
}

func settings(args []string, stderr io.Writer) (options, config.Config, error) {
	var opts options
	flags := pflag.NewFlagSet("dev", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.SetNormalizeFunc(shortNames)
	flags.IntVar(&opts.temporalPort, "temporal-port", 7233, "port of Temporal; 0 picks a free port")
	flags.IntVar(&opts.uiPort, "ui-port", 8233, "port of the Temporal Web UI; 0 means no Web UI")
	flags.BoolVar(&opts.memory, "memory", false, "keep Temporal's database in memory: all tasks are lost at the end")
	flags.StringVar(&opts.temporalBin, "temporal-bin", "", "path of the longhaul-temporal program (default bin/longhaul-temporal, built if missing)")
	cfg, err := config.Load(config.Source{Args: args, Env: os.Environ(), Flags: flags})
	return opts, cfg, err
}

// shortNames maps the short forms of the flags used most often.
func shortNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "api":
		name = "api-listen"
	case "data":
		name = "data-dir"
	}
	return pflag.NormalizedName(name)
}

// serve starts Temporal, unless TEMPORAL_ADDRESS names a server, and then worker and API.
func serve(ctx context.Context, opts options, cfg config.Config, stdout io.Writer) error {
	// The listener comes first: without an address for the API nothing is started.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.API.Listen)
	if err != nil {
		return fmt.Errorf("listen for the API: %w (choose another address with --api)", err)
	}
	var failed <-chan error
	address := ""
	if os.Getenv("TEMPORAL_ADDRESS") == "" {
		temporal, err := startTemporal(ctx, opts, cfg, stdout)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer temporal.Stop()
		address, failed = temporal.Address, temporal.Failed
		cfg.TemporalUIURL = temporal.UI
	}
	a, err := app.Open(ctx, cfg, cluster.Options{Address: address})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer a.Close()
	if err := a.Temporal.Wait(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	printAddresses(stdout, a, listener.Addr())
	return roles(ctx, a, listener, failed)
}

// roles runs worker and API until ctx ends, a role fails, or Temporal cannot be restarted.
func roles(ctx context.Context, a *app.App, listener net.Listener, lost <-chan error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return app.RunWorker(ctx, a) })
	all.Go(func() error { return a.ServeAPI(ctx, listener) })
	all.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			return err
		}
	})
	return all.Wait()
}

// printAddresses prints where each part listens and stores its data.
func printAddresses(stdout io.Writer, a *app.App, api net.Addr) {
	model := a.Config.LLM.Model + " at " + a.Config.LLM.All()[0].BaseURL
	if a.Config.LLM.Simulated() {
		model = "simulated: answers are sentences of the input. Set OPENAI_API_KEY for a real model"
	}
	for _, line := range [][2]string{
		{"API", fmt.Sprintf("http://%s  (docs at /docs)", api)},
		{"Temporal UI", cmp.Or(a.Config.TemporalUIURL, "none (--ui-port)")},
		{"Temporal", fmt.Sprintf("%s, namespace %s", a.Temporal.Address, a.Temporal.Namespace)},
		{"Data", a.Config.DataDir},
		{"Model", model},
		{"Stop", "Ctrl-C; tasks continue at the next start"},
	} {
		fmt.Fprintf(stdout, "%-12s %s\n", line[0], line[1])
	}
}

// startTemporal finds or builds the Temporal program and starts it.
func startTemporal(ctx context.Context, opts options, cfg config.Config, stdout io.Writer) (*localtemporal.Server, error) {
	program, err := localtemporal.FindProgram(ctx, opts.temporalBin, ".", stdout)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(cfg.DataDir, "temporal")
	if opts.memory {
		data = ""
	}
	return localtemporal.Start(ctx, localtemporal.Options{
		Program: program, Data: data, Port: opts.temporalPort, UIPort: opts.uiPort, Log: app.NewLog(cfg.Log),
	})
}
