package server

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// readJSON reads a JSON body whole.
func (s *server) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" || !utf8Charset(params["charset"]) {
		return nil, task.Errorf(task.WrongMedia, "the body must be sent as application/json, in UTF-8")
	}
	if r.ContentLength > s.Limits.MaxBody {
		return nil, s.bodyTooLarge()
	}
	in := newIntake(w, r)
	defer in.done()
	text, err := io.ReadAll(io.LimitReader(in, s.Limits.MaxBody+1))
	if err == nil && int64(len(text)) > s.Limits.MaxBody {
		err = s.bodyTooLarge()
	}
	return text, err
}

// readBody reads a JSON body that must keep the schema picked for it, or refuses it with every fault there is.
func (s *server) readBody(in raw, pick func(text []byte) *schema.Schema, body any) error {
	text, err := s.readJSON(in.writer, in.request)
	if err != nil {
		return err
	}
	if err := schema.WellFormed(text); err != nil {
		return err
	}
	if found := pick(text).Check(text); len(found) > 0 {
		return task.Unfit(found)
	}
	if err := json.Unmarshal(text, body); err != nil {
		return task.Errorf(task.Invalid, "the body is not valid: %v", err)
	}
	return nil
}

func (s *server) bodyTooLarge() error {
	return task.Errorf(task.TooLarge,
		"the body is larger than %d bytes; upload large documents with POST /v1/files and name them by file_id", s.Limits.MaxBody)
}

func utf8Charset(name string) bool { return name == "" || strings.EqualFold(name, "utf-8") }

// A body must come at this speed or faster, on average, after a time of grace.
const (
	bodyGrace    = 30 * time.Second
	bytesASecond = 8 << 10
)

// intake reads a request's body. It gives up on one that comes too slowly, and its errors say what
// the client did wrong.
type intake struct {
	body     io.Reader
	deadline func(time.Time) error
	began    time.Time
	received int64
	broken   bool
}

func newIntake(w http.ResponseWriter, r *http.Request) *intake {
	return &intake{body: r.Body, deadline: http.NewResponseController(w).SetReadDeadline, began: time.Now()}
}

// Read reads some of the body.
func (in *intake) Read(p []byte) (int, error) {
	earned := time.Duration(in.received/bytesASecond) * time.Second
	_ = in.deadline(in.began.Add(bodyGrace + earned)) // not supported in some tests: then there is no limit
	n, err := in.body.Read(p)
	in.received += int64(n)
	err = clientFault(err)
	in.broken = in.broken || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// done lifts the deadline. One left in place would end the request while it is being answered; but of a
// body that broke off nothing more is waited for.
func (in *intake) done() {
	if !in.broken {
		_ = in.deadline(time.Time{})
	}
}

// clientFault puts an error of reading a body into words.
func clientFault(err error) error {
	var slow net.Error
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return task.Errorf(task.TooSlow, "the body came at less than %d bytes a second; nothing was kept", bytesASecond).Because(err)
	default:
		return task.Errorf(task.BadRequest, "the body broke off; nothing was kept").Because(err)
	}
}
