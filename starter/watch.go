package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"longhaul/internal/task"
)

func (c *cli) watch() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Follow a task to its end and print its result", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.follow(cmd.Context(), args[0], output) },
	}
	cmd.Flags().StringVar(&output, "output", "", "write the result to this file")
	return cmd
}

// follow shows a task until it ends, and then what came of it. Leaving it early leaves the task
// alone: that is no failure.
func (c *cli) follow(ctx context.Context, id, output string) error {
	show, stop := c.progress(ctx)
	t, err := c.client.Watch(ctx, id, show)
	stop()
	if ctx.Err() != nil && !t.Done {
		c.note("The task goes on without you. Come back with: longhaul watch %s", id)
		return nil
	}
	if err != nil {
		return err
	}
	return c.conclude(ctx, t, output)
}

// conclude prints the end of a task: its result, or why there is none.
func (c *cli) conclude(ctx context.Context, t task.Task, output string) error {
	if t.Outcome == task.Partial || t.Status != task.Succeeded {
		if err := c.tellFailedItems(ctx, t); err != nil {
			return err
		}
	}
	if t.Simulated {
		c.note("The model was simulated: no provider is configured.") // files of rows and vectors do not say it
	}
	if t.Status == task.Succeeded {
		return c.deliver(ctx, t.ID, "", output)
	}
	c.note("%s %s", t.ID, t.Status)
	if t.Error != nil {
		c.tellProblem(t.Error)
	}
	if err := c.deliverKept(ctx, t, output); err != nil {
		return err
	}
	if c.json {
		if err := c.printJSON(t); err != nil {
			return err
		}
	}
	return errEnded
}

// deliverKept saves what a task had done before it failed or was cancelled, where that was asked for, and says how to get it otherwise.
func (c *cli) deliverKept(ctx context.Context, t task.Task, output string) error {
	switch {
	case t.Result == nil && t.ResultRef == nil:
		return nil
	case output != "":
		return c.deliver(ctx, t.ID, "", output)
	case t.Outcome == task.Partial:
		c.note("What was done is kept: longhaul result %s", t.ID)
	}
	return nil
}

// tellFailedItems lists the items that failed, but not those that the end of the task left undone: it says why once for all of them.
func (c *cli) tellFailedItems(ctx context.Context, t task.Task) error {
	items, err := c.client.Items(ctx, t.ID, task.ItemFailed)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(i task.Item) bool { return t.Error != nil && i.Error != nil && i.Error.Code == t.Error.Code })
	const most = 20
	for i, item := range items {
		if i == most {
			c.note("and %d more: longhaul items %s --status failed", len(items)-most, t.ID)
			break
		}
		c.note("%s: %s: %s", item.Status, itemName(item), reason(item.Error))
	}
	return nil
}

func itemName(item task.Item) string {
	if item.Name != "" {
		return item.Name
	}
	return fmt.Sprintf("item %d", item.Index+1)
}

func reason(e *task.Error) string {
	if e == nil {
		return "no reason was given"
	}
	return e.Title + ": " + e.Detail
}

// progress gives a function that shows a task as it moves: a bar on a terminal, else a line for
// every change that a person would want to know.
func (c *cli) progress(ctx context.Context) (show func(task.Task), stop func()) {
	if c.live() {
		return c.bar(ctx)
	}
	last := ""
	return func(t task.Task) {
		if line := standing(t); line != last {
			c.note("%s %s", time.Now().Format(time.TimeOnly), line)
			last = line
		}
	}, func() {}
}

func (c *cli) bar(ctx context.Context) (show func(task.Task), stop func()) {
	var text atomic.Value
	text.Store("")
	bars := mpb.NewWithContext(ctx, mpb.WithOutput(c.err), mpb.WithWidth(32))
	bar := bars.AddBar(100, mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
		line, _ := text.Load().(string)
		return " " + line
	})))
	return func(t task.Task) {
			text.Store(printable(standing(t)))
			if t.Progress.Percent != nil {
				bar.SetCurrent(min(int64(*t.Progress.Percent), 99))
			}
		}, func() {
			bar.Abort(true)
			bars.Wait()
		}
}

// standing is how a task stands, in a line.
func standing(t task.Task) string {
	p := t.Progress
	parts := []string{string(t.Status)}
	if t.Outcome == task.Partial && t.Status == task.Succeeded {
		parts[0] += " in part"
	}
	if p.Percent != nil && (!t.Done || t.Status == task.Succeeded) {
		parts = append(parts, fmt.Sprintf("%d%%", *p.Percent))
	}
	if p.Step != "" && !t.Done {
		parts = append(parts, p.Step)
	}
	if p.Counts.Total > 0 {
		parts = append(parts, counts(p.Counts))
	}
	switch {
	case t.Done:
	case t.Status == task.Paused && t.Waiting != nil:
		parts = append(parts, waits(t))
	case len(t.InputRequests) > 0:
		parts = append(parts, asks(t))
	case t.Stalled != nil:
		parts = append(parts, fmt.Sprintf("stalled since %s: %s", t.Stalled.Since.Local().Format(time.TimeOnly), t.Stalled.Detail))
	case t.Waiting != nil:
		parts = append(parts, waits(t))
	case t.Retrying != nil:
		parts = append(parts, fmt.Sprintf("trying %s again (attempt %d): %s", t.Retrying.Step, t.Retrying.Attempt, t.Retrying.LastError))
	case p.Message != "" && p.Counts.Total == 0:
		parts = append(parts, p.Message)
	case p.ETA != nil:
		parts = append(parts, fmt.Sprintf("about %s left", time.Duration(p.ETA.Seconds)*time.Second))
	}
	return strings.Join(parts, " · ")
}

// waits is what a task waits for; the state says it already of one that is paused.
func waits(t task.Task) string {
	w, text := t.Waiting, t.Waiting.Detail
	if w.Reason != task.WaitPaused {
		text = strings.TrimSuffix(fmt.Sprintf("waits (%s): %s", w.Reason, text), ": ")
	}
	if w.Until != nil {
		text += " until " + w.Until.Local().Format(time.DateTime)
	}
	return text
}

func counts(n task.Counts) string {
	line := fmt.Sprintf("%d of %d", n.Succeeded, n.Total)
	if n.Failed > 0 {
		line += fmt.Sprintf(", %d failed", n.Failed)
	}
	if n.Cancelled > 0 {
		line += fmt.Sprintf(", %d left undone", n.Cancelled)
	}
	return line
}
