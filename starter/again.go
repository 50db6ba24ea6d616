package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"longhaul/internal/task"
)

func (c *cli) pause() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause ID", Short: "Hold a task: no new calls are paid for, those that run are finished", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := c.client.PauseTask(cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			return c.show(t)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who see the task")
	return cmd
}

func (c *cli) resume() *cobra.Command {
	return &cobra.Command{
		Use: "resume ID", Short: "Let a paused task go on", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := c.client.ResumeTask(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.show(t)
		},
	}
}

// orderFlags are what a replay does in another way than before.
func orderFlags(cmd *cobra.Command) func() task.ReplayOrder {
	var o task.ReplayOrder
	var input string
	flags := cmd.Flags()
	flags.StringVar((*string)(&o.Scope), "scope", "failed", "failed: items that succeeded stay as they are; all: every item again")
	flags.StringVar(&o.Overrides.Model, "model", "", "the model to ask")
	flags.Float64Var(&o.Overrides.Budget, "budget", 0, "the most that it may cost")
	flags.StringVar(&o.Overrides.Deadline, "deadline", "", "a duration from now, such as 2h")
	flags.StringVar(&input, "input", "", "a JSON merge patch of the input")
	return func() task.ReplayOrder {
		if input != "" {
			o.Overrides.Input = json.RawMessage(input)
		}
		return o
	}
}

func (c *cli) replay() *cobra.Command {
	cmd := &cobra.Command{Use: "replay ID", Short: "Run a task that has ended again: what was paid for is reused", Args: cobra.ExactArgs(1)}
	order := orderFlags(cmd)
	var key string
	addKey(cmd, &key)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := c.client.Replay(cmd.Context(), args[0], order(), repeatable(key))
		if err != nil {
			return err
		}
		return c.show(t)
	}
	return cmd
}

// dead is the group of commands about tasks that failed for good.
func (c *cli) dead() *cobra.Command {
	cmd := &cobra.Command{Use: "dead", Short: "See to tasks that failed for good: list, show, replay, discard"}
	cmd.AddCommand(c.deadList(), c.deadGroups(), c.deadShow(), c.deadReplay(), c.deadDiscard())
	return cmd
}

func (c *cli) deadList() *cobra.Command {
	var group string
	cmd := &cobra.Command{
		Use: "list", Short: "List the open dead letters, the newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			letters, err := c.client.DeadLetters(cmd.Context(), group)
			if err != nil || c.json {
				return c.orJSON(letters, err)
			}
			for _, d := range letters {
				c.print("%s  %s  %-9s %4d failed  %s: %s", d.ID, d.At.Local().Format(time.DateTime), d.Kind, failed(d), d.Failures[0].Code, d.Headline)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&group, "group", "", "only those with this fingerprint")
	return cmd
}

// failed is how many items of a dead letter failed, or 1.
func failed(d task.DeadLetter) (n int) {
	for _, f := range d.Failures {
		n += f.Count
	}
	return n
}

func (c *cli) deadGroups() *cobra.Command {
	return &cobra.Command{
		Use: "groups", Short: "Put the open dead letters together by what went wrong", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			groups, err := c.client.DeadGroups(cmd.Context())
			if err != nil || c.json {
				return c.orJSON(groups, err)
			}
			for _, g := range groups {
				c.print("%s  %s  %s  %s, %s: %s\n    %s\n    %s", g.Fingerprint, counted(g.Tasks, "task"), counted(g.Items, "item"), g.Kind, g.Step, g.Code, g.Cause, g.Fix)
			}
			return nil
		},
	}
}

func (c *cli) deadShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Tell what went wrong in a task, and what mends it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client.DeadLetter(cmd.Context(), args[0])
			if err != nil || c.json {
				return c.orJSON(d, err)
			}
			c.print("%s  %s, %s\n%s", d.ID, d.Kind, d.Status, d.Headline)
			done := counted(d.Usage.Requests, "request") + cost(d.Usage)
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
			return nil
		},
	}
}

func (c *cli) deadReplay() *cobra.Command {
	var in task.ReplayInput
	canary, key := 1, ""
	cmd := &cobra.Command{Use: "replay", Short: "Run many dead letters again, a few first", Args: cobra.NoArgs}
	order := orderFlags(cmd)
	addKey(cmd, &key)
	cmd.Flags().StringVar(&in.Fingerprint, "group", "", "those with this fingerprint")
	cmd.Flags().StringVar(&in.Kind, "kind", "", "those of this kind")
	cmd.Flags().StringSliceVar(&in.IDs, "ids", nil, "these")
	cmd.Flags().IntVar(&canary, "canary", 1, "so many first; when one fails again the others stay as they are")
	cmd.Flags().IntVar(&in.PerMinute, "per-minute", 0, "how many are started in a minute at the most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		in.ReplayOrder, in.Canary = order(), &canary
		t, err := c.client.ReplayMany(cmd.Context(), in, repeatable(key))
		if err != nil {
			return err
		}
		return c.show(t)
	}
	return cmd
}

func (c *cli) deadDiscard() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "discard ID", Short: "Let a dead letter go", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client.Discard(cmd.Context(), args[0], reason)
			if err != nil || c.json {
				return c.orJSON(d, err)
			}
			c.print("%s  %s: %s", d.ID, d.Status, d.Reason)
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	_ = cmd.MarkFlagRequired("reason") // the flag is there
	return cmd
}
