package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// problemType is the content type of every error (RFC 9457).
const problemType = "application/problem+json"

// clientLeft is the status in the log of a request whose client did not wait for the answer.
const clientLeft = 499

// problem is an error on its way to the client. It tells huma its status, type and headers.
type problem struct {
	shown   *task.Error
	headers http.Header
}

func (p *problem) Error() string             { return p.shown.Error() }
func (p *problem) GetStatus() int            { return p.shown.Status }
func (p *problem) GetHeaders() http.Header   { return p.headers }
func (p *problem) ContentType(string) string { return problemType }

// problem is the one place where an error becomes an answer. What is internal is logged under the
// request's id and not told.
func (s *server) problem(ctx context.Context, err error) *problem {
	who := callerOf(ctx)
	if errors.Is(err, storage.ErrNotFound) {
		err = task.Errorf(task.NotFound, "it is not, or no longer, there").Because(err)
	}
	shown := *task.AsError(err)
	if ctx.Err() != nil && shown.Code != task.TooSlow { // nobody reads the answer, and nothing went wrong
		shown.Status = clientLeft
		return &problem{shown: &shown}
	}
	headers := http.Header{}
	switch shown.Code {
	case task.Internal:
		s.Log.ErrorContext(ctx, "internal error", "error", err, "cause", errors.Unwrap(err), "tenant", who.tenant, "request_id", who.request)
		shown.Detail = fmt.Sprintf("an unexpected error; it was logged under the request id %s", who.request)
	case task.TooSlow:
		headers.Set("Connection", "close") // the rest of the body is not waited for
	case task.Unauthorized:
		headers.Set("WWW-Authenticate", `Bearer realm="longhaul"`)
	case task.Unavailable:
		s.Log.WarnContext(ctx, "unavailable", "error", err, "cause", errors.Unwrap(err), "request_id", who.request)
		headers.Set("Retry-After", "5")
	default: // needs nothing more
	}
	return &problem{shown: &shown, headers: headers}
}

// drainTime is how long the body of a refused request may go on before the connection is cut.
const drainTime = time.Second

// fail answers with an error outside of huma: no such route, no key, a panic.
func (s *server) fail(c *gin.Context, err error) {
	p := s.problem(c.Request.Context(), err)
	maps.Copy(c.Writer.Header(), p.headers)
	if c.Request.ContentLength != 0 { // nobody will read the body, and its rest is not waited for
		c.Header("Connection", "close")
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(drainTime))
	}
	c.Abort()
	writeJSON(c.Writer, p.shown.Status, problemType, p.shown)
}

// ours puts what huma refuses by itself, unknown or unfit parameters, into our words.
func (s *server) ours(ctx huma.Context, _ string, body any) (any, error) {
	switch v := body.(type) {
	case *problem:
		return v.shown, nil
	case *huma.ErrorModel:
		return refusal(ctx.Operation(), v), nil
	default:
		return body, nil
	}
}

func refusal(op *huma.Operation, m *huma.ErrorModel) *task.Error {
	var found []task.FieldError
	for _, d := range m.Errors {
		where, name, _ := strings.Cut(d.Location, ".")
		f := task.FieldError{Pointer: where + ":" + name, Detail: d.Message}
		if where == "query" {
			f.Pointer = "?" + name
		}
		if strings.HasPrefix(d.Message, "unknown query") {
			f.Detail = schema.Unknown("parameter", name, queryNames(op))
		}
		found = append(found, f)
	}
	return task.Unfit(found)
}

func queryNames(op *huma.Operation) []string {
	var names []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// unfit refuses one query parameter.
func unfit(name, format string, args ...any) *task.Error {
	return task.Unfit([]task.FieldError{{Pointer: "?" + name, Detail: fmt.Sprintf(format, args...)}})
}

// writeJSON writes an answer. An error means that the client has left, and nobody is to be told.
func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}
