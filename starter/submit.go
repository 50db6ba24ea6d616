package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"longhaul/client"
)

// order holds the flags of submit.
type order struct {
	input, output  string
	set, label     []string
	priority       int
	delay, startAt string
	deadline       string
	model, key     string
	webhook, email string
	budget         float64
	watch          bool
}

func (c *cli) submit() *cobra.Command {
	o := &order{}
	cmd := &cobra.Command{
		Use: "submit KIND [files and addresses...]", Short: "Start a task",
		Long: "Start a task of a kind. Local files are uploaded, http(s) addresses are fetched by longhaul, and - reads text\n" +
			"from standard input. Each setting of the kind is a flag too: longhaul submit KIND --help lists them.",
		Example: "  longhaul submit summary report.pdf notes.docx --words 200 --watch\n  longhaul submit summary https://example.com/paper.pdf --label project=atlas\n" +
			"  longhaul submit qa contract.pdf --questions 'When does it end?' --questions 'Who signed it?' --watch\n" +
			"  longhaul submit generate products.csv --template 'Describe {{name}}.' --watch --output results.csv",
		// The flags depend on the kind, so they are parsed once it is known.
		DisableFlagParsing: true, PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.input, "input", "", "the input as JSON, or @FILE, or @- for standard input")
	flags.StringArrayVar(&o.set, "set", nil, "set a field of the input: key=value")
	flags.StringArrayVar(&o.label, "label", nil, "label the task: key=value")
	flags.IntVar(&o.priority, "priority", 0, "1 is first, 5 is last")
	flags.StringVar(&o.delay, "delay", "", "start after this duration, such as 90s")
	flags.StringVar(&o.startAt, "start-at", "", "start at this time (RFC 3339)")
	flags.StringVar(&o.deadline, "deadline", "", "end by then: a time, or a duration such as 2h")
	flags.StringVar(&o.webhook, "webhook", "", "address to notify of this task; unlike longhaul webhooks, its messages are not signed")
	flags.StringVar(&o.email, "notify", "", "mail address to notify when the task ends or needs a person")
	flags.Float64Var(&o.budget, "budget", 0, "the most the task may cost, in the currency of the prices")
	flags.StringVar(&o.model, "model", "", "the model to call")
	addKeyFlag(cmd, &o.key)
	flags.BoolVar(&o.watch, "watch", false, "watch the task and print its result")
	flags.StringVar(&o.output, "output", "", "with --watch: write the result to this file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.runSubmit(cmd, o, args) }
	return cmd
}

func (c *cli) runSubmit(cmd *cobra.Command, o *order, args []string) error {
	name, help, err := parseKind(cmd, args)
	switch {
	case err != nil:
		return err
	case name == "" && !help:
		return errors.New("submit needs a kind; longhaul kinds lists them")
	case name == "":
		return cmd.Help()
	}
	if err := c.connect(); err != nil {
		return err
	}
	kind, err := c.client.Kind(cmd.Context(), name)
	if err != nil {
		return err
	}
	settings := addSettings(cmd.Flags(), kind)
	if err := cmd.Flags().Parse(args); err != nil {
		return err
	}
	if help {
		return cmd.Help()
	}
	o.set = append(o.set, settings()...)
	if o.output != "" && !o.watch {
		hint := ""
		if _, ok := fieldsOf(kind)["output"]; ok {
			hint = "; --set output=FORM sets the format of the file"
		}
		return errors.New("--output needs --watch; longhaul result ID --output FILE fetches a result later" + hint)
	}
	return c.start(cmd.Context(), o, kind, cmd.Flags().Args()[1:])
}

// parseKind parses the arguments for the address of the API, the kind, and whether help is wanted. The kind must come before the
// flags of its settings.
func parseKind(cmd *cobra.Command, args []string) (kind string, help bool, err error) {
	flags := pflag.NewFlagSet("submit", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.AddFlagSet(cmd.InheritedFlags())
	flags.AddFlagSet(cmd.Flags())
	if err := flags.Parse(args); err != nil {
		return "", false, err
	}
	for _, list := range []string{"set", "label"} { // they are parsed a second time, which would append to them
		if values, ok := flags.Lookup(list).Value.(pflag.SliceValue); ok {
			_ = values.Replace(nil)
		}
	}
	help, err = flags.GetBool("help")
	return flags.Arg(0), help, err
}

// start creates the task and, with --watch, follows it.
func (c *cli) start(ctx context.Context, o *order, kind client.KindInfo, sources []string) error {
	input, err := c.buildInput(ctx, o, kind, sources)
	if err != nil {
		return err
	}
	labels, err := pairs("label", o.label)
	if err != nil {
		return err
	}
	t, err := c.client.Create(ctx, client.NewTask{
		Kind: kind.Name, Input: input, Labels: labels, Priority: o.priority,
		Delay: o.delay, StartAt: o.startAt, Deadline: o.deadline, Model: o.model, Budget: o.budget, Webhook: o.hook(), Notify: o.notify(),
	}, o.key)
	if err != nil {
		return err
	}
	if o.watch {
		return c.follow(ctx, t.ID, o.output)
	}
	if c.json {
		return c.printJSON(t, nil)
	}
	c.print("%s", t.ID)
	c.note("Accepted. Watch it with: longhaul watch %s", t.ID)
	return nil
}

// hook returns the webhook of the task, or nil.
func (o *order) hook() *client.Webhook {
	if o.webhook == "" {
		return nil
	}
	return &client.Webhook{URL: o.webhook}
}

// notify returns the mail address to notify, or nil.
func (o *order) notify() *client.Notify {
	if o.email == "" {
		return nil
	}
	return &client.Notify{Email: o.email}
}

// pairs parses the key=value pairs of a flag.
func pairs(flag string, given []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for _, pair := range given {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--%s must be key=value, not %q", flag, pair)
		}
		all[key] = value
	}
	return all, nil
}
