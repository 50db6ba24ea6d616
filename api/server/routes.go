package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
)

// routes is the contents page of the API.
func (s *server) routes() {
	handle(s, operation("create-task", "POST /v1/tasks", http.StatusAccepted, "Start a task"), s.create)
	handle(s, operation("list-tasks", "GET /v1/tasks", http.StatusOK, "List tasks: the running ones first, then the last that ended"), s.list)
	handle(s, operation("get-task", "GET /v1/tasks/{id}", http.StatusOK, "See how a task stands, or wait until it changes"), s.get)
	handle(s, operation("cancel-task", "POST /v1/tasks/{id}/cancel", http.StatusAccepted, "Ask a task to stop, keeping what it finished"), s.cancel)
	handle(s, operation("pause-task", "POST /v1/tasks/{id}/pause", http.StatusAccepted, "Hold a task and all that works for it: no new calls are paid for, those that run are finished"), s.pause)
	handle(s, operation("resume-task", "POST /v1/tasks/{id}/resume", http.StatusAccepted, "Let a paused task go on"), s.resume)
	handle(s, operation("replay-task", "POST /v1/tasks/{id}/replay", http.StatusAccepted, "Run a task that has ended again: what was paid for is reused"), s.replay)
	handle(s, operation("input-task", "POST /v1/tasks/{id}/input", http.StatusAccepted, "Approve or deny a call, answer a question, or send a message"), s.input)
	handle(s, streams(operation("task-events", "GET /v1/tasks/{id}/events", http.StatusOK, "Follow a task to its end as Server-Sent Events"), eventStream, "application/json"), s.events)
	handle(s, streams(operation("task-socket", "GET /v1/tasks/{id}/ws", http.StatusOK, "Follow a task, and answer it, over WebSocket"), "application/json"), s.socket)
	handle(s, streams(operation("all-events", "GET /v1/events", http.StatusOK, "Follow all tasks as Server-Sent Events"), eventStream), s.allEvents)
	handle(s, streams(operation("get-result", "GET /v1/tasks/{id}/result", http.StatusOK, "Read the result of a task"), "application/json"), s.result)
	handle(s, operation("list-items", "GET /v1/tasks/{id}/items", http.StatusOK, "List the items of a task, also while it runs"), s.items)
	handle(s, streams(operation("get-items", "GET /v1/tasks/{id}/items.jsonl", http.StatusOK, "Read all items of a task, one JSON object a line"), linesType), s.itemLines)
	handle(s, operation("list-artifacts", "GET /v1/tasks/{id}/artifacts", http.StatusOK, "List the files a task produced"), s.artifacts)
	handle(s, streams(operation("get-artifact", "GET /v1/tasks/{id}/artifacts/{name}", http.StatusOK, "Download a file a task produced"), "*/*"), s.artifact)
	handle(s, operation("get-timeline", "GET /v1/tasks/{id}/timeline", http.StatusOK, "See what happened in a task: steps, attempts, waits"), s.timeline)

	handle(s, operation("list-dead-letters", "GET /v1/dead-letters", http.StatusOK, "List the tasks that failed for good, or some of whose items did"), s.deadLetters)
	handle(s, operation("list-dead-letter-groups", "GET /v1/dead-letters/groups", http.StatusOK, "Put the open dead letters together by what went wrong"), s.deadGroups)
	handle(s, operation("replay-dead-letters", "POST /v1/dead-letters/replay", http.StatusAccepted, "Run many dead letters again, as a task of the kind replay"), s.replayMany)
	handle(s, operation("get-dead-letter", "GET /v1/dead-letters/{id}", http.StatusOK, "See what went wrong in a task, and what mends it"), s.deadLetter)
	handle(s, operation("replay-dead-letter", "POST /v1/dead-letters/{id}/replay", http.StatusAccepted, "Run a dead letter again, once however often it is asked for"), s.replayDead)
	handle(s, operation("discard-dead-letter", "POST /v1/dead-letters/{id}/discard", http.StatusOK, "Let a dead letter go"), s.discard)
	handle(s, operation("list-deliveries", "GET /v1/tasks/{id}/deliveries", http.StatusOK, "List the messages that tell of a task, with every attempt"), s.deliveries)

	handle(s, operation("redeliver", "POST /v1/deliveries/{id}/redeliver", http.StatusAccepted, "Send a message again"), s.redeliver)
	handle(s, operation("add-webhook", "POST /v1/webhooks", http.StatusCreated, "Register an address that hears of every task created from now on"), s.addWebhook)
	handle(s, operation("list-webhooks", "GET /v1/webhooks", http.StatusOK, "List the registered addresses"), s.webhooks)
	handle(s, operation("delete-webhook", "DELETE /v1/webhooks/{id}", http.StatusNoContent, "Send nothing to an address any more"), s.deleteWebhook)
	handle(s, operation("rotate-webhook", "POST /v1/webhooks/{id}/rotate", http.StatusOK, "Replace the secret of an address; the old one signs too for a day"), s.rotateWebhook)
	handle(s, operation("test-webhook", "POST /v1/webhooks/{id}/test", http.StatusOK, "Send a ping to an address, and see what comes of it"), s.testWebhook)

	handle(s, operation("upload-file", "POST /v1/files", http.StatusCreated, "Upload a file"), s.upload)
	handle(s, operation("get-file", "GET /v1/files/{id}", http.StatusOK, "Describe an uploaded file"), s.file)
	handle(s, streams(operation("get-file-content", "GET /v1/files/{id}/content", http.StatusOK, "Download an uploaded file"), "*/*"), s.fileContent)
	handle(s, operation("delete-file", "DELETE /v1/files/{id}", http.StatusNoContent, "Delete an uploaded file"), s.deleteFile)

	handle(s, operation("list-kinds", "GET /v1/kinds", http.StatusOK, "List the kinds of task, with their input schemas"), s.kinds)
	handle(s, operation("get-kind", "GET /v1/kinds/{name}", http.StatusOK, "Describe a kind of task"), s.kind)
	handle(s, operation("get-limits", "GET /v1/limits", http.StatusOK, "List the limits that requests must keep"), s.limits)
	handle(s, operation("get-system", "GET /v1/system", http.StatusOK, "See what waits, who works, and how your tasks fare"), s.system)
	handle(s, open(operation("video-callback", "POST /v1/callbacks/video/{task}/{item}", http.StatusNoContent, "Say that a video may have changed at its provider")), s.videoCallback)
	handle(s, operation("healthz", "GET /healthz", http.StatusOK, "Say that this process runs"), s.healthz)
	handle(s, operation("readyz", "GET /readyz", http.StatusOK, "Say whether tasks can be accepted and read"), s.readyz)
}

func operation(id, route string, status int, summary string) huma.Operation {
	method, path, _ := strings.Cut(route, " ")
	op := huma.Operation{OperationID: id, Method: method, Path: path, DefaultStatus: status, Summary: summary}
	op.Responses = map[string]*huma.Response{}
	if group, ok := strings.CutPrefix(path, "/v1/"); ok {
		group, _, _ = strings.Cut(group, "/")
		op.Tags = []string{group}
	} else {
		op.Tags = []string{"health"}
		op.Security = []map[string][]string{}
	}
	return op
}

// open says that an operation asks for no key.
func open(op huma.Operation) huma.Operation {
	op.Security = []map[string][]string{}
	return op
}

// streams says that an operation answers with bytes of one of some types instead of a described object.
func streams(op huma.Operation, contentTypes ...string) huma.Operation {
	content := map[string]*huma.MediaType{}
	for _, contentType := range contentTypes {
		content[contentType] = &huma.MediaType{Schema: &huma.Schema{}}
	}
	op.Responses["200"] = &huma.Response{Description: "OK", Content: content}
	return op
}

// handle puts a typed handler behind a route. Whatever error it returns leaves as a problem.
func handle[In, Out any](s *server, op huma.Operation, fn func(context.Context, *In) (*Out, error)) {
	huma.Register(s.api, op, func(ctx context.Context, in *In) (*Out, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
	op.Responses["default"] = s.problemResponse()
}

// raw gives a handler the request and the writer themselves, for what streams.
type raw struct {
	request *http.Request
	writer  http.ResponseWriter
}

// Resolve is called by huma before the handler.
func (r *raw) Resolve(ctx huma.Context) []error {
	c := humagin.Unwrap(ctx)
	r.request, r.writer = c.Request, c.Writer
	return nil
}

// stream is an answer that a function writes. Errors must be found before it is returned.
type stream struct {
	Body func(huma.Context)
}

func streaming(write func(w http.ResponseWriter, r *http.Request)) *stream {
	return &stream{Body: func(ctx huma.Context) {
		c := humagin.Unwrap(ctx)
		write(c.Writer, c.Request)
	}}
}
