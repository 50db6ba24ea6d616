package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/client"
)

// startAPI serves tasks in memory. A task ends soon after it is created.
func startAPI() *httptest.Server {
	tasks := servertest.NewTasks()
	tasks.OnCreate = func(id string) {
		tasks.Give(id, []client.Item{
			{ID: "a", Status: client.ItemSucceeded, Name: "good.txt"},
			{ID: "b", Index: 1, Status: client.ItemFailed, Name: "scan.pdf", Error: &client.Error{Code: client.NoText, Title: "Document without text"}},
		}, nil)
		tasks.Succeed(id, `{"documents":[{"summary":"The harbour was rebuilt in 1911."}]}`, client.Partial)
	}
	h, err := server.New(server.Parts{
		Tasks: tasks, Webhooks: &servertest.Hooks{Tasks: tasks}, Kinds: []client.KindInfo{servertest.Summary()},
		Limits: server.Limits{MaxBody: 64 << 10}, Log: slog.New(slog.DiscardHandler), Version: client.Version,
	})
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(h)
}

func newSummary() client.NewTask {
	return client.NewTask{
		Kind: "summary", Labels: map[string]string{"project": "harbour"},
		Input: client.SummaryInput{Words: 50, Documents: []client.Document{{Text: "The harbour was rebuilt in 1911. It is deeper now."}}},
	}
}

// A task is started, watched to its end, and its result is read.
func Example() {
	api := startAPI()
	defer api.Close()
	ctx := context.Background()
	c, err := client.New(api.URL, "")
	if err != nil {
		panic(err)
	}
	created, err := c.Create(ctx, newSummary(), "harbour-1")
	if err != nil {
		panic(err)
	}
	done, err := c.Watch(ctx, created.ID, func(client.Task) {}) // with a function that shows the progress
	if err != nil {
		panic(err)
	}
	var result struct {
		Documents []struct{ Summary string }
	}
	if err := c.DecodeResult(ctx, created.ID, &result); err != nil {
		panic(err)
	}
	fmt.Println(done.Status, done.Outcome)
	fmt.Println(result.Documents[0].Summary)
	// Output:
	// succeeded partial
	// The harbour was rebuilt in 1911.
}

// An error has a code to decide by, and names the fields that are wrong.
func ExampleError() {
	api := startAPI()
	defer api.Close()
	c, err := client.New(api.URL, "")
	if err != nil {
		panic(err)
	}
	_, err = c.Create(context.Background(), client.NewTask{Kind: "summary", Input: map[string]any{"words": 5}}, "")
	var e *client.Error
	if errors.As(err, &e) && e.Code == client.Invalid {
		for _, field := range e.Errors {
			fmt.Println(field.Pointer) // and field.Detail says why
		}
	}
	// Output:
	// /input/documents
	// /input/words
}

// Items that failed say why.
func ExampleClient_Items() {
	api := startAPI()
	defer api.Close()
	ctx := context.Background()
	c, err := client.New(api.URL, "")
	if err != nil {
		panic(err)
	}
	created, err := c.Create(ctx, newSummary(), "harbour-1")
	if err != nil {
		panic(err)
	}
	if _, err := c.Watch(ctx, created.ID, func(client.Task) {}); err != nil {
		panic(err)
	}
	failed, err := c.Items(ctx, created.ID, client.ItemFailed)
	if err != nil {
		panic(err)
	}
	for _, item := range failed {
		fmt.Println(item.Name, item.Error.Code)
	}
	// Output:
	// scan.pdf no_extractable_text
}
