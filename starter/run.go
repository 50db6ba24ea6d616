package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"longhaul/client"
	"longhaul/internal/task"
)

// The exit codes.
const (
	exitDone        = 0 // it worked; also when a watch was left while the task goes on
	exitFailed      = 1 // the task failed, was cancelled, or has no result
	exitUsage       = 2 // the command or the request is wrong
	exitUnreachable = 3 // the API does not answer, or cannot at the moment
)

// errEnded says that a task ended without what was asked for; all that is to say has been printed.
var errEnded = errors.New("the task did not succeed")

// cli is one run of the command line.
type cli struct {
	in       io.Reader
	out, err io.Writer
	api, key string
	json     bool
	client   *client.Client
}

// run runs a command line, without its program name, and gives the exit code.
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
			"Exit codes: 0 it worked, 1 the task failed or was cancelled, 2 the command is wrong, 3 the API cannot be reached.",
		SilenceUsage: true, SilenceErrors: true, CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) error { return c.connect() },
	}
	flags, key := root.PersistentFlags(), c.key
	flags.StringVar(&c.api, "api", c.api, "address of the API (LONGHAUL_API)")
	flags.StringVar(&c.key, "key", "", "API key (LONGHAUL_KEY)")
	flags.BoolVar(&c.json, "json", false, "print JSON as the API gives it")
	root.AddCommand(
		c.submit(), c.watch(), c.get(), c.list(), c.cancel(), c.pause(), c.resume(), c.replay(), c.dead(), c.approve(), c.deny(), c.answer(), c.tell(),
		c.result(), c.items(), c.webhooks(), c.deliveries(), c.redeliver(), c.kinds(), c.version(),
	)
	c.key = key // as a default of the flag, the help would show it
	sayUsage(root)
	return root
}

// sayUsage has every command that got too few or too many arguments say which it takes.
func sayUsage(cmd *cobra.Command) {
	if fits := cmd.Args; fits != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := fits(cmd, args); err != nil {
				return fmt.Errorf("%w; usage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, inner := range cmd.Commands() {
		sayUsage(inner)
	}
}

func (c *cli) connect() error {
	var err error
	c.client, err = client.New(c.api, c.key)
	return err
}

// exit tells what went wrong, and what the program's exit code is.
func (c *cli) exit(ctx context.Context, err error) int {
	lost, unreachable := errors.AsType[*client.Unreachable](err)
	refused, ours := errors.AsType[*task.Error](err)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errEnded):
		return exitFailed
	case ctx.Err() != nil:
		c.note("interrupted")
		return exitUsage
	case unreachable:
		c.note("%v", lost)
		c.note("Is it running, and nothing in the way? make run starts everything; --api or LONGHAUL_API says where it is.")
		return exitUnreachable
	case ours:
		c.tellProblem(refused)
		return exitOf(refused)
	default:
		c.note("%v", err)
		c.note("longhaul --help lists the commands.")
		return exitUsage
	}
}

func exitOf(e *task.Error) int {
	switch {
	case e.Code == task.NotReady || e.Code == task.Conflict || e.Code == task.Gone:
		return exitFailed
	case e.Status >= 500:
		return exitUnreachable
	default:
		return exitUsage
	}
}

func (c *cli) tellProblem(e *task.Error) {
	c.note("%s: %s", e.Title, e.Detail)
	if len(e.Errors) < 2 {
		return
	}
	for _, f := range e.Errors {
		c.note("  %s %s", f.Pointer, f.Detail)
	}
}

// note tells a person something, beside the output.
func (c *cli) note(format string, args ...any) {
	_, _ = fmt.Fprintln(c.err, printable(fmt.Sprintf(format, args...)))
}

// print writes a line of output.
func (c *cli) print(format string, args ...any) {
	_, _ = fmt.Fprintln(c.out, printable(fmt.Sprintf(format, args...)))
}

// printable takes out what could move a terminal's cursor or change its colours: names, errors and
// answers of a model come from outside.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && (r < 0x7f || r > 0x9f) {
			return r
		}
		return -1
	}, text)
}

// live reports whether notes go to a terminal, where a bar can move.
func (c *cli) live() bool {
	f, ok := c.err.(*os.File)
	if !ok {
		return false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return err == nil && width > 0
}

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			c.print("longhaul %s", task.Version)
			return nil
		},
	}
}
