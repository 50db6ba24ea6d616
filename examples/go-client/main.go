// Command longhaul-client shows how a program of another module uses the package client: it summarises a text, shows the
// progress, prints the result, handles an error by its code, and replays the task.
//
//	LONGHAUL_API=http://127.0.0.1:8080 LONGHAUL_KEY=... go run -C examples/go-client .
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"longhaul/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c, err := client.New(cmp.Or(os.Getenv("LONGHAUL_API"), "http://127.0.0.1:8080"), os.Getenv("LONGHAUL_KEY"))
	if err != nil {
		return err
	}
	in := client.SummaryInput{Documents: []client.Document{
		{Name: "harbour", Text: "The harbour was rebuilt in 1911. It is deeper now, and ships of any size can enter it."},
		{Name: "bridge", Text: "The bridge was inspected in May. Its bearings are worn, and must be replaced within a year."},
	}}
	t, err := submit(ctx, c, in)
	if err != nil {
		return err
	}
	if t, err = c.Watch(ctx, t.ID, progress); err != nil {
		return err
	}
	if err := printResult(ctx, c, t); err != nil {
		return err
	}
	return replay(ctx, c, t)
}

// submit starts a summary. The API refuses a language of over 64 characters, which this program then leaves out.
func submit(ctx context.Context, c *client.Client, in client.SummaryInput) (client.Task, error) {
	in.Language = strings.Repeat("plain ", 20) + "English"
	t, err := create(ctx, c, in)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == client.Invalid {
		for _, field := range e.Errors {
			fmt.Println("refused:", field.Pointer, field.Detail)
		}
		in.Language = ""
		t, err = create(ctx, c, in)
	}
	return t, err
}

// create starts a task. After an error the call may be repeated with the same key: it returns the task that is there.
func create(ctx context.Context, c *client.Client, in client.SummaryInput) (client.Task, error) {
	n := client.NewTask{Kind: "summary", Input: in, Labels: map[string]string{"example": "go-client"}}
	return c.Create(ctx, n, rand.Text())
}

func progress(t client.Task) {
	line := string(t.Status)
	if p := t.Progress; p.Percent != nil {
		line += fmt.Sprintf(" %d%%, %d of %d", *p.Percent, p.Counts.Succeeded, p.Counts.Total)
	}
	fmt.Println(line)
}

// printResult prints the report of a task that succeeded, or the items that failed.
func printResult(ctx context.Context, c *client.Client, t client.Task) error {
	failed, err := c.Items(ctx, t.ID, client.ItemFailed)
	if err != nil {
		return err
	}
	for _, item := range failed {
		fmt.Println("failed:", item.Name, item.Error)
	}
	if t.Status != client.Succeeded {
		return fmt.Errorf("task %s is %s: %v", t.ID, t.Status, t.Error)
	}
	var result struct {
		Documents []struct{ Name, Summary string }
	}
	if err := c.DecodeResult(ctx, t.ID, &result); err != nil {
		return err
	}
	for _, d := range result.Documents {
		fmt.Printf("%s: %s\n", d.Name, d.Summary)
	}
	return nil
}

// replay runs the task again, with all items. Answers that are paid for are reused, so it costs nothing.
func replay(ctx context.Context, c *client.Client, t client.Task) error {
	again, err := c.Replay(ctx, t.ID, client.ReplayOrder{Scope: client.ScopeAll}, t.ID)
	if err != nil {
		return err
	}
	if again, err = c.Watch(ctx, again.ID, func(client.Task) {}); err != nil {
		return err
	}
	fmt.Printf("replay: %s, %d requests after %d before\n", again.Status, again.Usage.Requests, t.Usage.Requests)
	return nil
}
