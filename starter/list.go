package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"longhaul/client"
)

// show prints a task, unless there is an error.
func (c *cli) show(t client.Task, err error) error {
	if err != nil || c.json {
		return c.printJSON(t, err)
	}
	c.print("%s  %s", t.ID, statusLine(t))
	c.print("kind      %s", t.Kind)
	c.print("created   %s", t.CreatedAt.Local().Format(time.DateTime))
	if t.FinishedAt != nil {
		c.print("finished  %s", t.FinishedAt.Local().Format(time.DateTime))
	}
	if len(t.Labels) > 0 {
		c.print("labels    %s", labelText(t.Labels))
	}
	for _, id := range slices.Sorted(maps.Keys(t.InputRequests)) {
		c.print("asks      %s: %s", id, describeRequest(t.InputRequests[id]))
	}
	c.print("usage     %s", usageText(t.Usage))
	if t.Usage.VideoSeconds > 0 {
		c.print("video     %g seconds", t.Usage.VideoSeconds)
	}
	if t.Simulated {
		c.print("model     simulated: no provider is configured")
	}
	if t.Error != nil {
		c.print("error     %s", reason(t.Error))
	}
	return nil
}

// usageText names wasted and unknown usage only where there is any; the cost includes the wasted tokens.
func usageText(u client.Usage) string {
	text := fmt.Sprintf("%s, %d tokens in, %d out", countOf(u.Requests, "request"), u.InputTokens, u.OutputTokens)
	if u.WastedTokens > 0 {
		text += fmt.Sprintf(", %d wasted", u.WastedTokens)
	}
	if u.UnmeteredCalls > 0 {
		text += ", unknown for " + countOf(u.UnmeteredCalls, "call")
	}
	return text + cost(u)
}

func cost(u client.Usage) string {
	if u.Cost == nil {
		return ""
	}
	return fmt.Sprintf(", %.4g %s", u.Cost.Amount, u.Cost.Currency)
}

func labelText(labels map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, k+"="+labels[k])
	}
	return strings.Join(all, " ")
}

func (c *cli) list() *cobra.Command {
	var f client.Filter
	var status string
	var labels []string
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			f.Status = client.State(status)
			if f.Labels, err = pairs("label", labels); err != nil {
				return err
			}
			return c.showList(c.client.List(cmd.Context(), f))
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only tasks in this state")
	cmd.Flags().StringVar(&f.Kind, "kind", "", "only tasks of this kind")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only tasks with this label: key=value")
	cmd.Flags().IntVar(&f.Limit, "limit", 20, "the most tasks to list")
	cmd.Flags().StringVar(&f.Cursor, "cursor", "", "continue after the page that printed this cursor")
	return cmd
}

func (c *cli) showList(page client.Page[client.Task], err error) error {
	if err != nil || c.json {
		return c.printJSON(page, err)
	}
	rows := [][]string{{"ID", "KIND", "CREATED", "STATUS", "LABELS", "ABOUT"}}
	for _, t := range page.Data {
		rows = append(rows, []string{t.ID, t.Kind, t.CreatedAt.Local().Format(time.DateTime), statusLine(t), labelText(t.Labels), t.Headline})
	}
	if err := c.table(rows); err != nil {
		return err
	}
	if page.NextCursor != nil {
		c.note("More tasks: longhaul list --cursor %s", *page.NextCursor)
	}
	return nil
}

func (c *cli) items() *cobra.Command {
	var status string
	cmd := &cobra.Command{
		Use: "items ID", Short: "List the items of a task with their status", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			items, err := c.client.Items(cmd.Context(), args[0], client.ItemStatus(status))
			if err != nil || c.json {
				return c.printJSON(items, err)
			}
			rows := [][]string{{"#", "STATUS", "NAME", "TOKENS", "WHY"}}
			for _, item := range items {
				why := ""
				if item.Error != nil {
					why = reason(item.Error)
				}
				rows = append(rows, []string{fmt.Sprint(item.Index + 1), string(item.Status), itemName(item), fmt.Sprint(item.Usage.InputTokens + item.Usage.OutputTokens + item.Usage.WastedTokens), why})
			}
			return c.table(rows)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only items with this status")
	return cmd
}

func (c *cli) kinds() *cobra.Command {
	return &cobra.Command{
		Use: "kinds [KIND]", Short: "List the kinds of task, or the input fields of a kind", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.showKind(cmd.Context(), args[0])
			}
			kinds, err := c.client.Kinds(cmd.Context())
			if err != nil || c.json {
				return c.printJSON(kinds, err)
			}
			rows := [][]string{{"KIND", "WHAT IT DOES"}}
			for _, k := range kinds {
				rows = append(rows, []string{k.Name, k.Title})
			}
			return c.table(rows)
		},
	}
}

func (c *cli) showKind(ctx context.Context, name string) error {
	k, err := c.client.Kind(ctx, name)
	if err != nil || c.json {
		return c.printJSON(k, err)
	}
	c.print("%s: %s. %s\nsteps: %s\n", k.Name, k.Title, k.Description, strings.Join(k.Steps, ", "))
	rows := [][]string{{"FIELD", "TYPE", "WHAT IT IS"}}
	fields := fieldsOf(k)
	for _, field := range names(fields) {
		rows = append(rows, []string{field, fields[field].Type, fields[field].Description})
	}
	return c.table(rows)
}
