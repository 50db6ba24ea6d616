// Package client is the Go client of longhaul's HTTP API: it starts, follows, controls and reads tasks.
//
//	c, err := client.New("http://127.0.0.1:8080", os.Getenv("LONGHAUL_KEY"))
//	if err != nil {
//		return err
//	}
//	t, err := c.Create(ctx, client.NewTask{
//		Kind:  "summary",
//		Input: client.SummaryInput{Documents: []client.Document{{URL: "https://example.com/report.pdf"}}},
//	}, "report-2026-11") // the idempotency key: a retry finds the same task
//	if err != nil {
//		return err
//	}
//	t, err = c.Watch(ctx, t.ID, func(t client.Task) { log.Println(t.Status, t.Progress.Message) })
//
// Every type, state, error code and constant that a call takes or returns is exported here; nothing else of this module is
// needed. Fields have the names of the API's JSON.
//
// # Errors
//
// A call fails with an [Error], which errors.As finds: its Code says what went wrong, its Errors name the fields of the request
// by JSON Pointer, and Retryable says whether the same call may succeed later. The code [NoAnswer] means that the API could not
// be reached. When ctx ends, the call returns ctx.Err(). Other errors concern this machine, such as a file that cannot be read.
//
// # Retries
//
// Only [Client.Watch], [Client.WatchText] and [Client.WatchAll] repeat requests. Every method says what happens when its caller
// repeats it. Calls that start a task take an idempotency key: the same call with the same key returns the same task.
//
// The package prints nothing and keeps nothing between calls. A Client may be used by many goroutines.
package client
