package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"longhaul/client"
)

func (c *cli) webhooks() *cobra.Command {
	cmd := &cobra.Command{Use: "webhooks", Short: "Register addresses and mailboxes that are notified of tasks", Args: cobra.NoArgs}
	cmd.AddCommand(c.addWebhook(), c.listWebhooks(), c.removeWebhook(), c.rotateWebhook(), c.testWebhook())
	return cmd
}

func (c *cli) addWebhook() *cobra.Command {
	var events []string
	cmd := &cobra.Command{
		Use: "add URL|MAILBOX", Short: "Register an address or a mailbox; its secret is shown once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := client.NewWebhook{URL: args[0]}
			if !strings.Contains(args[0], "://") && strings.Contains(args[0], "@") {
				n = client.NewWebhook{Email: args[0]}
			}
			for _, event := range events {
				n.Events = append(n.Events, client.Occasion(event))
			}
			return c.showSecret(c.client.AddWebhook(cmd.Context(), n))
		},
	}
	cmd.Flags().StringArrayVar(&events, "event", nil, "notify only of this event, such as task.failed; repeat it for several")
	return cmd
}

// showSecret prints an endpoint with its secret, which the API shows once.
func (c *cli) showSecret(e client.Endpoint, err error) error {
	if err != nil || c.json {
		return c.printJSON(e, err)
	}
	c.print("%s", e.ID)
	if e.Secret != "" {
		c.print("%s", e.Secret)
		c.note("The second line is the secret that signs the messages. It is not shown again.")
	}
	return nil
}

func (c *cli) listWebhooks() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the registered webhooks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.client.Webhooks(cmd.Context())
			if err != nil || c.json {
				return c.printJSON(all, err)
			}
			rows := [][]string{{"ID", "CREATED", "ADDRESS", "EVENTS", "DISABLED"}}
			for _, e := range all {
				rows = append(rows, []string{e.ID, e.CreatedAt.Local().Format(time.DateTime), e.URL, eventNames(e.Events), disabledReason(e.Disabled)})
			}
			return c.table(rows)
		},
	}
}

func eventNames(events []client.Occasion) string {
	if len(events) == 0 {
		return "everything"
	}
	var all []string
	for _, e := range events {
		all = append(all, strings.TrimPrefix(string(e), "task."))
	}
	return strings.Join(all, ",")
}

func disabledReason(d *client.Disabled) string {
	if d == nil {
		return ""
	}
	return d.Reason
}

func (c *cli) removeWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Delete a webhook", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.client.DeleteWebhook(cmd.Context(), args[0]) },
	}
}

func (c *cli) rotateWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "rotate ID", Short: "Replace the secret of a webhook; for a day messages are signed with both", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.showSecret(c.client.RotateWebhook(cmd.Context(), args[0]))
		},
	}
}

func (c *cli) testWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "test ID", Short: "Send a ping to a webhook; exit code 1 if it does not arrive", Args: cobra.ExactArgs(1),
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
		err = c.printJSON(attempt, nil)
	case attempt.Error == "":
		c.print("the ping arrived: %d, after %.2f s", attempt.StatusCode, attempt.Seconds)
	default:
		c.print("the ping did not arrive: %s", attempt.Error)
	}
	if err == nil && attempt.Error != "" {
		return errEnded
	}
	return err
}

func (c *cli) deliveries() *cobra.Command {
	return &cobra.Command{
		Use: "deliveries ID", Short: "List the messages about a task, with every attempt", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := c.client.Deliveries(cmd.Context(), args[0])
			if err != nil || c.json {
				return c.printJSON(all, err)
			}
			for _, d := range all {
				c.showDelivery(d)
			}
			return nil
		},
	}
}

func (c *cli) showDelivery(d client.Delivery) {
	c.print("%s  %s  %s  %s  %s", d.ID, d.Event, d.Status, d.URL, d.Detail)
	for _, a := range d.Attempts {
		result := a.Error
		if result == "" && a.StatusCode > 0 {
			result = fmt.Sprintf("delivered: %d", a.StatusCode)
		}
		c.print("  %s  %.2f s  %s", a.At.Local().Format(time.DateTime), a.Seconds, result)
	}
	if d.NextAttemptAt != nil {
		c.print("  next attempt at %s", d.NextAttemptAt.Local().Format(time.DateTime))
	}
}

func (c *cli) redeliver() *cobra.Command {
	return &cobra.Command{
		Use: "redeliver ID", Short: "Send a message again, whatever its status", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.client.Redeliver(cmd.Context(), args[0])
			if err != nil || c.json {
				return c.printJSON(d, err)
			}
			c.note("The message is sent again; see longhaul deliveries %s", d.Task)
			return nil
		},
	}
}
