package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"longhaul/client"
)

func (c *cli) watch() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Watch a task to its end and print its result", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.follow(cmd.Context(), args[0], output) },
	}
	cmd.Flags().StringVar(&output, "output", "", "write the result to this file")
	return cmd
}

// follow shows the progress of a task until it ends, and then prints its result. An interrupt ends the watch, not the task, and
// is not an error.
func (c *cli) follow(ctx context.Context, id, output string) error {
	show, stop := c.progress(ctx)
	t, err := c.client.Watch(ctx, id, show)
	stop()
	if ctx.Err() != nil && !t.Done {
		c.note("The task continues. Watch it again with: longhaul watch %s", id)
		return nil
	}
	if err != nil {
		return err
	}
	return c.conclude(ctx, t, output)
}

// conclude prints the result of a task that has ended, or the reason why it has none.
func (c *cli) conclude(ctx context.Context, t client.Task, output string) error {
	if t.Outcome == client.Partial || t.Status != client.Succeeded {
		if err := c.noteFailedItems(ctx, t); err != nil {
			return err
		}
	}
	if t.Simulated {
		c.note("The model was simulated: no provider is configured.") // files of rows and vectors do not say so
	}
	if t.Status == client.Succeeded {
		return c.outputResult(ctx, t.ID, "", output)
	}
	c.note("%s %s", t.ID, t.Status)
	if t.Error != nil {
		c.noteProblem(t.Error)
	}
	if err := c.outputPartial(ctx, t, output); err != nil {
		return err
	}
	if c.json {
		if err := c.printJSON(t, nil); err != nil {
			return err
		}
	}
	return errEnded
}

// outputPartial saves what a task did before it failed or was cancelled, if --output is given, or else notes how to fetch it.
func (c *cli) outputPartial(ctx context.Context, t client.Task, output string) error {
	switch {
	case t.Result == nil && t.ResultRef == nil:
		return nil
	case output != "":
		return c.outputResult(ctx, t.ID, "", output)
	case t.Outcome == client.Partial:
		c.note("Finished items are kept. Fetch them with: longhaul result %s", t.ID)
	}
	return nil
}

// noteFailedItems lists the failed items, without the items that failed because the task ended: the task's own error says so
// once.
func (c *cli) noteFailedItems(ctx context.Context, t client.Task) error {
	items, err := c.client.Items(ctx, t.ID, client.ItemFailed)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(i client.Item) bool { return t.Error != nil && i.Error != nil && i.Error.Code == t.Error.Code })
	const most = 20
	for i, item := range items {
		if i == most {
			c.note("%d more: longhaul items %s --status failed", len(items)-most, t.ID)
			break
		}
		c.note("%s: %s: %s", item.Status, itemName(item), reason(item.Error))
	}
	return nil
}

func itemName(item client.Item) string {
	if item.Name != "" {
		return item.Name
	}
	return fmt.Sprintf("item %d", item.Index+1)
}

func reason(e *client.Error) string {
	if e == nil {
		return "unknown reason"
	}
	return e.Title + ": " + e.Detail
}
