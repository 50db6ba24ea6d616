package server

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"longhaul/internal/task"
)

// linesType is the content type of one JSON object a line.
const linesType = "application/jsonl"

func (s *server) result(ctx context.Context, in *taskPath) (*stream, error) {
	object, err := s.Tasks.Result(ctx, tenant(ctx), in.ID)
	if err != nil && task.AsError(err).Code == task.NotReady {
		return s.notReady(ctx, in.ID)
	}
	if err != nil {
		return nil, err
	}
	return streaming(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		serve(w, r, object, "")
	}), nil
}

// notReady answers the task itself in place of its result, with 202.
func (s *server) notReady(ctx context.Context, id string) (*stream, error) {
	t, err := s.Tasks.Get(ctx, tenant(ctx), id)
	if err != nil {
		return nil, err
	}
	return streaming(func(w http.ResponseWriter, _ *http.Request) {
		a := answer(http.StatusAccepted, t)
		w.Header().Set("Retry-After", a.RetryAfter)
		writeJSON(w, a.Status, "application/json", a.Body)
	}), nil
}

type itemsRequest struct {
	ID     string `path:"id" doc:"the task's id"`
	Status string `query:"status" enum:"pending,succeeded,failed,cancelled" doc:"only items with this status"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"100" doc:"the most items to answer"`
}

func (s *server) items(ctx context.Context, in *itemsRequest) (*pageAnswer[task.Item], error) {
	f := task.ItemFilter{Status: task.ItemStatus(in.Status), Cursor: in.Cursor, Limit: in.Limit}
	return listed(s.Tasks.Items(ctx, tenant(ctx), in.ID, f))
}

// itemLines answers every item as a line. The first one is awaited, so that an unknown task is a
// problem and not an empty list; an error later cuts the connection.
func (s *server) itemLines(ctx context.Context, in *taskPath) (*stream, error) {
	next, stop := iter.Pull2(s.Tasks.AllItems(ctx, tenant(ctx), in.ID))
	first, err, ok := next()
	if err != nil {
		stop()
		return nil, err
	}
	return streaming(func(w http.ResponseWriter, _ *http.Request) {
		defer stop()
		w.Header().Set("Content-Type", linesType)
		out := bufio.NewWriter(w)
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		for item := first; ok; item, err, ok = next() {
			if err != nil {
				s.Log.WarnContext(ctx, "items broke off", "task", in.ID, "error", err)
			}
			if err != nil || lines.Encode(item) != nil {
				panic(http.ErrAbortHandler)
			}
		}
		_ = out.Flush() // fails when the client has left
	}), nil
}

func (s *server) artifacts(ctx context.Context, in *taskPath) (*pageAnswer[task.Artifact], error) {
	return listed(s.Tasks.Artifacts(ctx, tenant(ctx), in.ID))
}

type artifactPath struct {
	ID   string `path:"id" doc:"the task's id"`
	Name string `path:"name" doc:"the artifact's name"`
}

func (s *server) artifact(ctx context.Context, in *artifactPath) (*stream, error) {
	a, object, err := s.Tasks.Artifact(ctx, tenant(ctx), in.ID, in.Name)
	return download(object, err, a.Name, a.ContentType, "")
}

type timelineRequest struct {
	ID     string `path:"id" doc:"the task's id"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

func (s *server) timeline(ctx context.Context, in *timelineRequest) (*pageAnswer[task.Event], error) {
	return listed(s.Tasks.Timeline(ctx, tenant(ctx), in.ID, in.Cursor))
}
