package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"longhaul/client"
)

// addOrderFlags adds the flags of a replay. The returned function reads them after parsing.
func addOrderFlags(cmd *cobra.Command) func() client.ReplayOrder {
	var o client.ReplayOrder
	var input string
	flags := cmd.Flags()
	flags.StringVar((*string)(&o.Scope), "scope", "failed", "failed: keep the items that succeeded; all: do every item again")
	flags.StringVar(&o.Overrides.Model, "model", "", "the model to call")
	flags.Float64Var(&o.Overrides.Budget, "budget", 0, "the most the replay may cost, in the currency of the prices")
	flags.StringVar(&o.Overrides.Deadline, "deadline", "", "end by then: a duration from now, such as 2h")
	flags.StringVar(&input, "input", "", "changes of the input, as a JSON merge patch")
	return func() client.ReplayOrder {
		if input != "" {
			o.Overrides.Input = json.RawMessage(input)
		}
		return o
	}
}

// dead returns the commands for dead letters: tasks that failed for good.
func (c *cli) dead() *cobra.Command {
	cmd := &cobra.Command{Use: "dead", Short: "Handle tasks that failed for good: list, show, replay, discard"}
	cmd.AddCommand(c.deadList(), c.deadGroups(), c.deadShow(), c.deadReplay(), c.deadDiscard())
	return cmd
}

func (c *cli) deadList() *cobra.Command {
	var group string
	cmd := &cobra.Command{
		Use: "list", Short: "List the open dead letters, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			letters, err := c.client.DeadLetters(cmd.Context(), group)
			if err != nil || c.json {
				return c.printJSON(letters, err)
			}
			for _, d := range letters {
				c.print("%s  %s  %-9s %4d failed  %s: %s", d.ID, d.At.Local().Format(time.DateTime), d.Kind, failedCount(d), d.Failures[0].Code, d.Headline)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&group, "group", "", "only dead letters of the group with this fingerprint")
	return cmd
}

// failedCount returns how many items of a dead letter failed; 1 for a task without items.
func failedCount(d client.DeadLetter) (n int) {
	for _, f := range d.Failures {
		n += f.Count
	}
	return n
}

func (c *cli) deadGroups() *cobra.Command {
	return &cobra.Command{
		Use: "groups", Short: "Group the open dead letters by failure", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			groups, err := c.client.DeadGroups(cmd.Context())
			if err != nil || c.json {
				return c.printJSON(groups, err)
			}
			for _, g := range groups {
				c.print("%s  %s  %s  %s, %s: %s\n    %s\n    %s", g.Fingerprint, countOf(g.Tasks, "task"), countOf(g.Items, "item"), g.Kind, g.Step, g.Code, g.Cause, g.Fix)
			}
			return nil
		},
	}
}

func (c *cli) deadShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show what failed in a task, the likely cause and the fix", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client.DeadLetter(cmd.Context(), args[0])
			if err != nil || c.json {
				return c.printJSON(d, err)
			}
			c.showDeadLetter(d)
			return nil
		},
	}
}

func (c *cli) showDeadLetter(d client.DeadLetter) {
	c.print("%s  %s, %s\n%s", d.ID, d.Kind, d.Status, d.Headline)
	done := countOf(d.Usage.Requests, "request") + cost(d.Usage)
	if d.Counts.Total > 0 {
		done = fmt.Sprintf("%d of %d, %s", d.Counts.Succeeded, d.Counts.Total, done)
	}
	c.print("done      %s", done)
	for _, f := range d.Failures {
		c.print("failed    %d at step %s: %s", f.Count, f.Step, reason(f.Example.Error))
	}
	c.print("cause     %s\nfix       %s\nreplay    %s %s %s", d.Cause, d.Fix, d.Replay.Method, d.Replay.Path, d.Replay.Body)
	for _, r := range d.Replays {
		c.print("replayed  as %s, %s", r.TaskID, r.At.Local().Format(time.DateTime))
	}
	if d.Reason != "" {
		c.print("discarded because %s", d.Reason)
	}
}

func (c *cli) deadReplay() *cobra.Command {
	var in client.ReplayInput
	canary, key := 1, ""
	cmd := &cobra.Command{Use: "replay", Short: "Replay many dead letters, a few first", Args: cobra.NoArgs}
	order := addOrderFlags(cmd)
	addKeyFlag(cmd, &key)
	cmd.Flags().StringVar(&in.Fingerprint, "group", "", "the dead letters of the group with this fingerprint")
	cmd.Flags().StringVar(&in.Kind, "kind", "", "the dead letters of this kind")
	cmd.Flags().StringSliceVar(&in.IDs, "ids", nil, "the dead letters with these ids")
	cmd.Flags().IntVar(&canary, "canary", 1, "replay so many first; if one fails again, the others are not replayed")
	cmd.Flags().IntVar(&in.PerMinute, "per-minute", 0, "the most replays started per minute")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		in.ReplayOrder, in.Canary = order(), &canary
		return c.show(c.client.ReplayMany(cmd.Context(), in, key))
	}
	return cmd
}

func (c *cli) deadDiscard() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "discard ID", Short: "Discard a dead letter", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client.Discard(cmd.Context(), args[0], reason)
			if err != nil || c.json {
				return c.printJSON(d, err)
			}
			c.print("%s  %s: %s", d.ID, d.Status, d.Reason)
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason")
	_ = cmd.MarkFlagRequired("reason") // cannot fail: the flag exists
	return cmd
}
