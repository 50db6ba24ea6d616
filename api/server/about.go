package server

import (
	"context"
	"time"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

func (s *server) kinds(context.Context, *struct{}) (*pageAnswer[task.KindInfo], error) {
	return listed(task.Page[task.KindInfo]{Data: s.Kinds}, nil)
}

type kindPath struct {
	Name string `path:"name" doc:"the kind's name"`
}

type kindAnswer struct{ Body task.KindInfo }

func (s *server) kind(_ context.Context, in *kindPath) (*kindAnswer, error) {
	for _, k := range s.Kinds {
		if k.Name == in.Name {
			return &kindAnswer{Body: k}, nil
		}
	}
	return nil, task.Errorf(task.NotFound, "%s", schema.Unknown("kind", in.Name, kindNames(s.Kinds)))
}

func kindNames(kinds []task.KindInfo) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

type limitsAnswer struct{ Body limits }

// limits are the bounds of requests. Sizes are in bytes, lengths in characters.
type limits struct {
	MaxBody           int64 `json:"max_body_bytes" doc:"of a JSON body; documents go to POST /v1/files"`
	MaxUpload         int64 `json:"max_upload_bytes" doc:"of one uploaded file"`
	MaxName           int   `json:"max_file_name_length"`
	MaxWait           int   `json:"max_wait_seconds" doc:"of a long poll, and of Prefer: wait"`
	MaxLabels         int   `json:"max_labels"`
	MaxLabelKey       int   `json:"max_label_key_length"`
	MaxLabelValue     int   `json:"max_label_value_length"`
	MaxLabelBytes     int   `json:"max_labels_bytes" doc:"of all keys and values together"`
	MaxIdempotencyKey int   `json:"max_idempotency_key_length"`
	MaxPage           int   `json:"max_page_size"`
	MaxDelay          int   `json:"max_delay_seconds" doc:"between acceptance and start"`
	MaxDocuments      int   `json:"max_documents" doc:"of one task"`
	InlineResult      int   `json:"max_inline_result_bytes" doc:"a larger result is a reference"`
}

func (s *server) limits(context.Context, *struct{}) (*limitsAnswer, error) {
	return &limitsAnswer{Body: limits{
		MaxBody: s.Limits.MaxBody, MaxUpload: s.Limits.MaxUpload, MaxName: maxName, MaxWait: int(maxWait.Seconds()),
		MaxLabels: maxLabels, MaxLabelKey: maxLabelKey, MaxLabelValue: maxLabelValue, MaxLabelBytes: maxLabelBytes,
		MaxIdempotencyKey: maxIdempotencyKey, MaxPage: task.MaxPage, MaxDelay: int(maxDelay.Seconds()),
		MaxDocuments: task.MaxDocuments, InlineResult: task.InlineResultLimit,
	}}, nil
}

type systemAnswer struct{ Body task.System }

func (s *server) system(ctx context.Context, _ *struct{}) (*systemAnswer, error) {
	found, err := s.Tasks.System(ctx, tenant(ctx))
	if err != nil {
		return nil, err
	}
	return &systemAnswer{Body: found}, nil
}

type healthAnswer struct {
	Body struct {
		Status  string `json:"status" enum:"ok,ready"`
		Version string `json:"version"`
	}
}

func (s *server) health(status string) *healthAnswer {
	a := &healthAnswer{}
	a.Body.Status, a.Body.Version = status, s.Version
	return a
}

func (s *server) healthz(context.Context, *struct{}) (*healthAnswer, error) {
	return s.health("ok"), nil
}

// readyTime is how long the parts behind the API may take to say that they are there.
const readyTime = 5 * time.Second

func (s *server) readyz(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
	limited, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	err := s.Tasks.Ready(limited)
	if err == nil {
		return s.health("ready"), nil
	}
	if task.AsError(err).Code == task.Internal {
		err = task.Errorf(task.Unavailable, "not everything behind the API can be reached; the log says what").Because(err)
	}
	return nil, err
}
