package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"longhaul/internal/task"
)

func (c *cli) get() *cobra.Command {
	return &cobra.Command{
		Use: "get ID", Short: "Show how a task stands", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := c.client.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.show(t)
		},
	}
}

func (c *cli) cancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Ask a task to stop, keeping what it finished", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := c.client.Cancel(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.show(t)
		},
	}
}

// show prints a task for a person.
func (c *cli) show(t task.Task) error {
	if c.json {
		return c.printJSON(t)
	}
	c.print("%s  %s", t.ID, standing(t))
	c.print("kind      %s", t.Kind)
	c.print("created   %s", t.CreatedAt.Local().Format(time.DateTime))
	if t.FinishedAt != nil {
		c.print("finished  %s", t.FinishedAt.Local().Format(time.DateTime))
	}
	if len(t.Labels) > 0 {
		c.print("labels    %s", labelText(t.Labels))
	}
	for _, id := range slices.Sorted(maps.Keys(t.InputRequests)) {
		c.print("asks      %s: %s", id, wanted(t.InputRequests[id]))
	}
	c.print("usage     %s, %d tokens in, %d out%s", counted(t.Usage.Requests, "request"), t.Usage.InputTokens, t.Usage.OutputTokens, cost(t.Usage))
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

func cost(u task.Usage) string {
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
	var f task.Filter
	var status string
	var labels []string
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			f.Status = task.State(status)
			if f.Labels, err = pairs("label", labels); err != nil {
				return err
			}
			page, err := c.client.List(cmd.Context(), f)
			if err != nil {
				return err
			}
			return c.showList(page)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only tasks in this state")
	cmd.Flags().StringVar(&f.Kind, "kind", "", "only tasks of this kind")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only tasks with this label: key=value")
	cmd.Flags().IntVar(&f.Limit, "limit", 20, "the most tasks to list")
	cmd.Flags().StringVar(&f.Cursor, "cursor", "", "go on where another list ended")
	return cmd
}

func (c *cli) showList(page task.Page[task.Task]) error {
	if c.json {
		return c.printJSON(page)
	}
	rows := [][]string{{"ID", "KIND", "CREATED", "STANDING", "LABELS", "ABOUT"}}
	for _, t := range page.Data {
		rows = append(rows, []string{t.ID, t.Kind, t.CreatedAt.Local().Format(time.DateTime), standing(t), labelText(t.Labels), t.Headline})
	}
	if err := c.table(rows); err != nil {
		return err
	}
	if page.NextCursor != nil {
		c.note("There are more: longhaul list --cursor %s", *page.NextCursor)
	}
	return nil
}

func (c *cli) items() *cobra.Command {
	var status string
	cmd := &cobra.Command{
		Use: "items ID", Short: "List the items of a task with their outcomes", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			items, err := c.client.Items(cmd.Context(), args[0], task.ItemStatus(status))
			if err != nil || c.json {
				return c.orJSON(items, err)
			}
			rows := [][]string{{"#", "STATUS", "NAME", "TOKENS", "WHY"}}
			for _, item := range items {
				why := ""
				if item.Error != nil {
					why = reason(item.Error)
				}
				rows = append(rows, []string{fmt.Sprint(item.Index + 1), string(item.Status), itemName(item), fmt.Sprint(item.Usage.InputTokens + item.Usage.OutputTokens), why})
			}
			return c.table(rows)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only items with this status")
	return cmd
}

func (c *cli) kinds() *cobra.Command {
	return &cobra.Command{
		Use: "kinds [KIND]", Short: "List the kinds of task, or the input of one", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.showKind(cmd.Context(), args[0])
			}
			kinds, err := c.client.Kinds(cmd.Context())
			if err != nil || c.json {
				return c.orJSON(kinds, err)
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
	k, err := c.findKind(ctx, name)
	if err != nil || c.json {
		return c.orJSON(k, err)
	}
	c.print("%s: %s. %s\nsteps: %s\n", k.Name, k.Title, k.Description, strings.Join(k.Steps, ", "))
	rows := [][]string{{"FIELD", "TYPE", "WHAT IT IS"}}
	fields := fieldsOf(k)
	for _, field := range names(fields) {
		rows = append(rows, []string{field, fields[field].Type, fields[field].Description})
	}
	return c.table(rows)
}

// orJSON is for what is not printed for a person: an error, or a value that is wanted as JSON.
func (c *cli) orJSON(v any, err error) error {
	if err != nil {
		return err
	}
	return c.printJSON(v)
}

func (c *cli) result() *cobra.Command {
	var artifact, output string
	cmd := &cobra.Command{
		Use: "result ID", Short: "Fetch the result of a task", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.deliver(cmd.Context(), args[0], artifact, output)
		},
	}
	cmd.Flags().StringVar(&artifact, "artifact", "", "fetch this file of the task instead")
	cmd.Flags().StringVar(&output, "output", "", "write it to this file")
	return cmd
}

// deliver prints or saves a result: the named artifact; else with --json, or for a file that is
// called .json, the result itself; else the report a person reads, if the task made one. Of a task over rows
// a file gets the file of results, and a person the receipt.
func (c *cli) deliver(ctx context.Context, id, artifact, output string) error {
	content, err := c.content(ctx, id, artifact, output)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if output != "" {
		return c.save(content, output)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	if c.json || artifact != "" {
		_, err = c.out.Write(append(bytes.TrimRight(text, "\n"), '\n'))
		return err
	}
	c.print("%s", strings.TrimRight(readable(text), "\n"))
	return nil
}

// reports are what the kinds call theirs. That of agents comes first: an agent may have written a file with one of the other names.
var reports = []string{"report.md", "summary.md", "answers.md"}

func (c *cli) content(ctx context.Context, id, artifact, output string) (io.ReadCloser, error) {
	if artifact != "" {
		return c.client.Artifact(ctx, id, artifact)
	}
	result, err := c.client.Result(ctx, id) // also when a report is wanted: it says why there is none
	if err != nil || c.json || strings.HasSuffix(output, ".json") {
		return result, err
	}
	defer func() { _ = result.Close() }()
	artifacts, err := c.client.Artifacts(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, name := range reports {
		if slices.ContainsFunc(artifacts, func(a task.Artifact) bool { return a.Name == name }) {
			return c.client.Artifact(ctx, id, name)
		}
	}
	text, err := io.ReadAll(result)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	return c.resultFile(ctx, id, text, artifacts, output)
}

// resultFile is the file of results that a receipt names, when it is to be saved; otherwise the receipt, which then says how to get it.
func (c *cli) resultFile(ctx context.Context, id string, receipt []byte, artifacts []task.Artifact, output string) (io.ReadCloser, error) {
	var names struct {
		Output string `json:"output"`
	}
	_ = json.Unmarshal(receipt, &names) // a result that is of another form names no file
	if !slices.ContainsFunc(artifacts, func(a task.Artifact) bool { return a.Name == names.Output }) {
		return io.NopCloser(bytes.NewReader(receipt)), nil
	}
	if output != "" {
		return c.client.Artifact(ctx, id, names.Output)
	}
	c.note("The results are in a file: longhaul result %s --output %s", id, names.Output)
	return io.NopCloser(bytes.NewReader(receipt)), nil
}

// save writes a file whole or not at all.
func (c *cli) save(content io.Reader, name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".longhaul-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("save the result: %w", err)
	}
	c.note("saved to %s", name)
	return nil
}

// readable indents JSON and leaves other text as it is.
func readable(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") == nil {
		return b.String()
	}
	return string(text)
}

func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (c *cli) table(rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.NewReplacer("\n", " ", "\t", " ").Replace(printable(cell))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// counted is so many of something in words.
func counted[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
