// Command dev is all of longhaul on one machine: Temporal with its Web UI as a child process, and
// everything else in this one.
//
// It starts and joins what other rooms made, and decides nothing itself. The end-to-end tests and
// the recorder of histories live here because they need the same whole.
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
	case "worker": // of the demonstration
		os.Args = os.Args[1:]
		os.Exit(app.Main(app.RunWorker))
	default:
		os.Exit(start(os.Args[1:], os.Stdout, os.Stderr))
	}
}

// start runs everything until Ctrl-C, which stops it in order; a second one ends it at once.
func start(args []string, stdout, stderr io.Writer) int {
	ctx, stop := app.Signals()
	defer stop()
	defer context.AfterFunc(ctx, func() { fmt.Fprintln(stdout, "Stopping; Ctrl-C again ends it at once.") })()
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

// options are the flags that only this program has.
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
	flags.IntVar(&opts.temporalPort, "temporal-port", 7233, "port of Temporal; 0 picks a free one")
	flags.IntVar(&opts.uiPort, "ui-port", 8233, "port of the Temporal Web UI; 0 means none")
	flags.BoolVar(&opts.memory, "memory", false, "keep Temporal's database in memory: all tasks are gone at the end")
	flags.StringVar(&opts.temporalBin, "temporal-bin", "", "the longhaul-temporal program (default bin/longhaul-temporal, built if missing)")
	cfg, err := config.Load(config.Source{Args: args, Env: os.Environ(), Flags: flags})
	return opts, cfg, err
}

// shortNames are what is typed most.
func shortNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "api":
		name = "api-listen"
	case "data":
		name = "data-dir"
	}
	return pflag.NormalizedName(name)
}

// serve starts Temporal, unless TEMPORAL_ADDRESS names one, and then all that needs it.
func serve(ctx context.Context, opts options, cfg config.Config, stdout io.Writer) error {
	// The address is taken first: nothing is started for an API that cannot be.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.API.Listen)
	if err != nil {
		return fmt.Errorf("listen for the API: %w (choose another address with --api)", err)
	}
	var failed <-chan error
	address := ""
	if os.Getenv("TEMPORAL_ADDRESS") == "" {
		temporal, err := launch(ctx, opts, cfg, stdout)
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
	tell(stdout, a, listener.Addr())
	return roles(ctx, a, listener, failed)
}

// roles runs worker and API until ctx ends, one of them fails, or Temporal is lost for good.
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

// tell says where everything is.
func tell(stdout io.Writer, a *app.App, api net.Addr) {
	model := a.Config.LLM.Model + " at " + a.Config.LLM.All()[0].BaseURL
	if a.Config.LLM.Simulated() {
		model = "simulated: answers are picked from the texts. Set OPENAI_API_KEY for a real model"
	}
	for _, line := range [][2]string{
		{"API", fmt.Sprintf("http://%s  (docs at /docs)", api)},
		{"Temporal UI", cmp.Or(a.Config.TemporalUIURL, "none")},
		{"Temporal", fmt.Sprintf("%s, namespace %s", a.Temporal.Address, a.Temporal.Namespace)},
		{"Data", a.Config.DataDir},
		{"Model", model},
		{"Stop", "Ctrl-C; tasks go on at the next start"},
	} {
		fmt.Fprintf(stdout, "%-12s %s\n", line[0], line[1])
	}
}

func launch(ctx context.Context, opts options, cfg config.Config, stdout io.Writer) (*supervised, error) {
	binary, err := findTemporal(ctx, opts.temporalBin, ".", stdout)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(cfg.DataDir, "temporal")
	if opts.memory {
		data = ""
	}
	return startTemporal(ctx, temporalOptions{Binary: binary, Data: data, Port: opts.temporalPort, UIPort: opts.uiPort, Log: app.NewLog(cfg.Log)})
}
