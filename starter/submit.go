package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"longhaul/client"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// order is what submit was asked for.
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
		Long: "Start a task of a kind. Files of this machine are uploaded, http(s) addresses are passed on, and - reads text\n" +
			"from standard input. The kind's own settings are flags too: longhaul submit KIND --help shows them.",
		Example: "  longhaul submit summary report.pdf notes.docx --words 200 --watch\n  longhaul submit summary https://example.com/paper.pdf --label project=atlas\n" +
			"  longhaul submit qa contract.pdf --questions 'When does it end?' --questions 'Who signed it?' --watch\n" +
			"  longhaul submit generate products.csv --template 'Describe {{name}}.' --watch --output results.csv",
		// The kind decides which flags there are, so they are parsed when it is known.
		DisableFlagParsing: true, PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.input, "input", "", "the input as JSON, or @FILE, or @- for standard input")
	flags.StringArrayVar(&o.set, "set", nil, "set a field of the input: key=value")
	flags.StringArrayVar(&o.label, "label", nil, "label the task: key=value")
	flags.IntVar(&o.priority, "priority", 0, "1 goes first, 5 last")
	flags.StringVar(&o.delay, "delay", "", "start this much later, such as 90s")
	flags.StringVar(&o.startAt, "start-at", "", "start at this time, as in RFC 3339")
	flags.StringVar(&o.deadline, "deadline", "", "end by then: a time, or a duration such as 2h")
	flags.StringVar(&o.webhook, "webhook", "", "address that is told how the task goes; it is not signed, as those of longhaul webhooks are")
	flags.StringVar(&o.email, "notify", "", "mail address that is told how the task ended")
	flags.Float64Var(&o.budget, "budget", 0, "the most that it may cost")
	flags.StringVar(&o.model, "model", "", "the model to ask")
	addKey(cmd, &o.key)
	flags.BoolVar(&o.watch, "watch", false, "follow the task and print its result")
	flags.StringVar(&o.output, "output", "", "with --watch: write the result to this file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.runSubmit(cmd, o, args) }
	return cmd
}

func (c *cli) runSubmit(cmd *cobra.Command, o *order, args []string) error {
	name, help, err := firstLook(cmd, args)
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
	kind, err := c.findKind(cmd.Context(), name)
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
			hint = "; --set output=FORM says what form its file has"
		}
		return errors.New("--output needs --watch; longhaul result ID --output FILE fetches a result later" + hint)
	}
	return c.start(cmd.Context(), o, kind, cmd.Flags().Args()[1:])
}

// firstLook parses just enough of the arguments to know where the API is, which kind is meant and
// whether help is wanted. The kind must come before flags that only it has.
func firstLook(cmd *cobra.Command, args []string) (kind string, help bool, err error) {
	flags := pflag.NewFlagSet("submit", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.AddFlagSet(cmd.InheritedFlags())
	flags.AddFlagSet(cmd.Flags())
	if err := flags.Parse(args); err != nil {
		return "", false, err
	}
	for _, list := range []string{"set", "label"} { // they will be parsed again, and they add up
		if values, ok := flags.Lookup(list).Value.(pflag.SliceValue); ok {
			_ = values.Replace(nil)
		}
	}
	help, err = flags.GetBool("help")
	return flags.Arg(0), help, err
}

func (c *cli) findKind(ctx context.Context, name string) (task.KindInfo, error) {
	kinds, err := c.client.Kinds(ctx)
	if err != nil {
		return task.KindInfo{}, err
	}
	var names []string
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return task.KindInfo{}, errors.New(schema.Unknown("kind", name, names))
}

// start creates the task and, when asked, follows it.
func (c *cli) start(ctx context.Context, o *order, kind task.KindInfo, sources []string) error {
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
	}, repeatable(o.key))
	if err != nil {
		return err
	}
	if o.watch {
		return c.follow(ctx, t.ID, o.output)
	}
	if c.json {
		return c.printJSON(t)
	}
	c.print("%s", t.ID)
	c.note("accepted; follow it with: longhaul watch %s", t.ID)
	return nil
}

// addKey gives a command that starts a task the flag that names what it starts.
func addKey(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "idempotency-key", "", "name this order, so that repeating it starts nothing new")
}

// repeatable is the key of an order, or one of its own: net/http may repeat a request, and it must not start a second task.
func repeatable(key string) string {
	if key == "" {
		return rand.Text()
	}
	return key
}

// hook is the webhook of the task; nil for none.
func (o *order) hook() *task.Webhook {
	if o.webhook == "" {
		return nil
	}
	return &task.Webhook{URL: o.webhook}
}

// notify is who else is told; nil for nobody.
func (o *order) notify() *client.Notify {
	if o.email == "" {
		return nil
	}
	return &client.Notify{Email: o.email}
}

func pairs(flag string, given []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for _, pair := range given {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--%s takes key=value, not %q", flag, pair)
		}
		all[key] = value
	}
	return all, nil
}
