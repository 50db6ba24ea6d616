package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"longhaul/client"
	"longhaul/internal/task"
)

func (c *cli) webhooks() *cobra.Command {
	cmd := &cobra.Command{Use: "webhooks", Short: "Register who is told how tasks go: addresses and mailboxes", Args: cobra.NoArgs}
	cmd.AddCommand(c.addWebhook(), c.listWebhooks(), c.removeWebhook(), c.rotateWebhook(), c.testWebhook())
	return cmd
}

func (c *cli) addWebhook() *cobra.Command {
	var events []string
	cmd := &cobra.Command{
		Use: "add URL|MAILBOX", Short: "Register an address; its secret is shown once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := client.NewWebhook{URL: args[0]}
			if !strings.Contains(args[0], "://") && strings.Contains(args[0], "@") {
				n = client.NewWebhook{Email: args[0]}
			}
			for _, event := range events {
				n.Events = append(n.Events, task.Occasion(event))
			}
			e, err := c.client.AddWebhook(cmd.Context(), n)
			if err != nil {
				return err
			}
			return c.showSecret(e)
		},
	}
	cmd.Flags().StringArrayVar(&events, "event", nil, "tell only of this, such as task.failed; may be used more than once")
	return cmd
}

// showSecret prints an endpoint whose secret is shown now and never again.
func (c *cli) showSecret(e task.Endpoint) error {
	if c.json {
		return c.printJSON(e)
	}
	c.print("%s", e.ID)
	if e.Secret != "" {
		c.print("%s", e.Secret)
		c.note("the second line is the secret that messages are signed with; it is not shown again")
	}
	return nil
}

func (c *cli) listWebhooks() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the registered addresses", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.client.Webhooks(cmd.Context())
			if err != nil || c.json {
				return c.orJSON(all, err)
			}
			rows := [][]string{{"ID", "CREATED", "ADDRESS", "HEARS OF", "DISABLED"}}
			for _, e := range all {
				rows = append(rows, []string{e.ID, e.CreatedAt.Local().Format(time.DateTime), e.URL, heard(e.Events), off(e.Disabled)})
			}
			return c.table(rows)
		},
	}
}

func heard(events []task.Occasion) string {
	if len(events) == 0 {
		return "everything"
	}
	var all []string
	for _, e := range events {
		all = append(all, strings.TrimPrefix(string(e), "task."))
	}
	return strings.Join(all, ",")
}

func off(d *task.Disabled) string {
	if d == nil {
		return ""
	}
	return d.Reason
}

func (c *cli) removeWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Send nothing to an address any more", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.client.DeleteWebhook(cmd.Context(), args[0]) },
	}
}

func (c *cli) rotateWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "rotate ID", Short: "Replace the secret of an address; the old one signs too for a day", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := c.client.RotateWebhook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.showSecret(e)
		},
	}
}

func (c *cli) testWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "test ID", Short: "Send an address a ping; exit code 1 if it does not arrive", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.ping(cmd.Context(), args[0]) },
	}
}

func (c *cli) ping(ctx context.Context, id string) error {
	attempt, err := c.client.TestWebhook(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case c.json:
		err = c.printJSON(attempt)
	case attempt.Error == "":
		c.print("it arrived: %d, after %.2f s", attempt.StatusCode, attempt.Seconds)
	default:
		c.print("it did not arrive: %s", attempt.Error)
	}
	if err == nil && attempt.Error != "" {
		return errEnded
	}
	return err
}

// deliveries shows the messages that tell of a task.
func (c *cli) deliveries() *cobra.Command {
	return &cobra.Command{
		Use: "deliveries ID", Short: "List the messages that tell of a task, with every attempt", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := c.client.Deliveries(cmd.Context(), args[0])
			if err != nil || c.json {
				return c.orJSON(all, err)
			}
			for _, d := range all {
				c.showDelivery(d)
			}
			return nil
		},
	}
}

func (c *cli) showDelivery(d task.Delivery) {
	c.print("%s  %s  %s  %s  %s", d.ID, d.Event, d.Status, d.URL, d.Detail)
	for _, a := range d.Attempts {
		result := a.Error
		if result == "" && a.StatusCode > 0 {
			result = fmt.Sprintf("taken: %d", a.StatusCode)
		}
		c.print("  %s  %.2f s  %s", a.At.Local().Format(time.DateTime), a.Seconds, result)
	}
	if d.NextAttemptAt != nil {
		c.print("  next attempt at %s", d.NextAttemptAt.Local().Format(time.DateTime))
	}
}

func (c *cli) redeliver() *cobra.Command {
	return &cobra.Command{
		Use: "redeliver ID", Short: "Send a message again, whatever became of it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client.Redeliver(cmd.Context(), args[0])
			if err != nil || c.json {
				return c.orJSON(d, err)
			}
			c.note("it is sent again; see longhaul deliveries %s", d.Task)
			return nil
		},
	}
}
