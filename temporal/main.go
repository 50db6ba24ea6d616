// Command longhaul-temporal runs a whole Temporal for one machine: the server and its Web UI on SQLite, in one
// process. It is a separate module so that the server's dependencies do not affect longhaul, which only starts the
// program and connects to its address.
//
// This module and longhaul must not import each other. longhaul registers its search attributes over the API, as with
// any other Temporal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/server/common/headers"
)

// stopTimeout is the maximum duration of a stop; after it the process exits. The database tolerates that.
const stopTimeout = 10 * time.Second

type options struct {
	ip            string
	port          int
	uiPort        int
	data          string
	memory        bool
	namespace     string
	retention     time.Duration
	historyEvents int
	logLevel      string
	dieWithParent bool
	version       bool
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "longhaul-temporal:", err)
		os.Exit(1)
	}
}

// run serves until a signal, or until the parent exits if --die-with-parent is set.
func run(args []string, stdin io.Reader, stdout io.Writer) error {
	opts, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case opts.version:
		_, err := fmt.Fprintln(stdout, headers.ServerVersion)
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if opts.dieWithParent {
		ctx = untilEOF(ctx, stdin)
	}
	ctx = untilSetBack(ctx, time.Second, clocks())
	srv, err := start(ctx, opts)
	if err != nil {
		return err
	}
	if err := srv.announce(stdout); err != nil {
		return errors.Join(err, srv.stop())
	}
	<-ctx.Done()
	stop() // a second signal ends the process at once
	time.AfterFunc(stopTimeout, func() { os.Exit(1) })
	if back, ok := context.Cause(ctx).(*setBackError); ok {
		return errors.Join(back, srv.stop())
	}
	return srv.stop()
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("longhaul-temporal", flag.ContinueOnError)
	f.StringVar(&o.ip, "ip", "127.0.0.1", "address to listen on; there is no login, so keep it on loopback")
	f.IntVar(&o.port, "port", 7233, "gRPC port; 0 picks a free one")
	f.IntVar(&o.uiPort, "ui-port", 8233, "port of the Web UI; 0 means no UI")
	f.StringVar(&o.data, "data", "", "folder for the database; created if missing")
	f.BoolVar(&o.memory, "memory", false, "keep all data in memory; it is lost when the process ends")
	f.StringVar(&o.namespace, "namespace", "default", "namespace to create")
	f.IntVar(&o.historyEvents, "history-events", 4096, "number of history events after which a workflow should continue as new")
	f.DurationVar(&o.retention, "retention", 7*24*time.Hour, "retention of closed workflows")
	f.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error")
	f.BoolVar(&o.dieWithParent, "die-with-parent", false, "stop when standard input is closed, as it is when the parent dies")
	f.BoolVar(&o.version, "version", false, "print the version of the Temporal server and exit")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.version:
		return o, nil
	case (o.data == "") != o.memory:
		return o, errors.New("set either --data DIR or --memory")
	case o.historyEvents < 20:
		return o, fmt.Errorf("--history-events is %d, the minimum is 20", o.historyEvents)
	case o.retention < time.Hour:
		return o, fmt.Errorf("--retention is %s, the minimum is 1h", o.retention)
	}
	return o, nil
}

// untilEOF cancels ctx when r ends. The parent holds the other end of the pipe, so the kernel closes it when the
// parent dies.
func untilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	return ctx
}
