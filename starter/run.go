package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"longhaul/client"
)

// The exit codes.
const (
	exitDone        = 0 // success; also when a watch is left and the task continues
	exitFailed      = 1 // the task failed, was cancelled, or has no result
	exitUsage       = 2 // the command or the request is wrong
	exitUnreachable = 3 // the API does not answer, or is unavailable
)

// errEnded is the error of a task that did not succeed. Its reason has been printed.
var errEnded = errors.New("the task did not succeed")

// cli is one run of the command line.
type cli struct {
	in       io.Reader
	out, err io.Writer
	api, key string
	json     bool
	client   *client.Client
}

// run runs a command line, without the program's name, and returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, in io.Reader, out, errOut io.Writer) int {
	c := &cli{in: in, out: out, err: errOut, api: "http://127.0.0.1:8080", key: env("LONGHAUL_KEY")}
	if api := env("LONGHAUL_API"); api != "" {
		c.api = api
	}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	return c.exit(ctx, root.ExecuteContext(ctx))
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use: "longhaul", Short: "Submit long AI tasks, watch them and fetch their results",
		Long: "Submit long AI tasks, watch them and fetch their results.\n\n" +
			"Exit codes: 0 success, 1 the task failed or was cancelled, 2 the command is wrong, 3 the API cannot be reached.",
		SilenceUsage: true, SilenceErrors: true, CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) error { return c.connect() },
	}
	flags, key := root.PersistentFlags(), c.key
	flags.StringVar(&c.api, "api", c.api, "address of the API (LONGHAUL_API)")
	flags.StringVar(&c.key, "key", "", "API key (LONGHAUL_KEY)")
	flags.BoolVar(&c.json, "json", false, "print the JSON of the API")
	root.AddCommand(
		c.submit(), c.watch(), c.get(), c.list(), c.cancel(), c.pause(), c.resume(), c.replay(), c.dead(), c.approve(), c.deny(), c.answer(), c.tell(),
		c.result(), c.items(), c.webhooks(), c.deliveries(), c.redeliver(), c.kinds(), c.version(),
	)
	c.key = key // as the default of the flag, it would be shown in the help
	addUsage(root)
	return root
}

// addUsage adds the usage line to the error of a command with too few or too many arguments.
func addUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w; usage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		addUsage(child)
	}
}

func (c *cli) connect() error {
	var err error
	c.client, err = client.New(c.api, c.key)
	return err
}

// exit prints an error and returns the exit code of the program.
func (c *cli) exit(ctx context.Context, err error) int {
	problem, fromAPI := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errEnded):
		return exitFailed
	case ctx.Err() != nil:
		c.note("interrupted")
		return exitUsage
	case fromAPI:
		c.noteProblem(problem)
		return exitOf(problem)
	default:
		c.note("%v", err)
		c.note("longhaul --help lists the commands.")
		return exitUsage
	}
}

func exitOf(e *client.Error) int {
	switch {
	case e.Code == client.NotReady || e.Code == client.Conflict || e.Code == client.Gone:
		return exitFailed
	case e.Code == client.NoAnswer || e.Status >= 500:
		return exitUnreachable
	default:
		return exitUsage
	}
}

func (c *cli) noteProblem(e *client.Error) {
	c.note("%s: %s", e.Title, e.Detail)
	if e.Code == client.NoAnswer {
		c.note("Check that the API runs (make run starts everything) and that --api or LONGHAUL_API is its address.")
	}
	if len(e.Errors) < 2 {
		return
	}
	for _, f := range e.Errors {
		c.note("  %s %s", f.Pointer, f.Detail)
	}
}

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			c.print("longhaul %s", client.Version)
			return nil
		},
	}
}
