package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/task"
)

// How long a stream may be silent. Its first line comes at once, unless something on the way keeps it back; after that
// it gives a sign of life every 15 seconds, unless the server was told otherwise.
const (
	firstLine = 5 * time.Second
	silence   = 50 * time.Second
)

// errNoStream says that events do not come through as a stream: the way is long polls.
var errNoStream = errors.New("no stream of events comes through")

// stream follows a task's events from where the watch is, until its end, a fault or a silence.
func (w *watch) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(w.client.patienceWith(firstLine), cancel)
	defer watchdog.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if w.seen {
		header.Set("Last-Event-ID", strconv.FormatInt(w.now.Revision, 10))
	}
	resp, err := w.client.send(ctx, call{method: http.MethodGet, path: taskPath(w.id, "events"), header: header})
	if err != nil {
		return late(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "text/event-stream" {
		return errNoStream
	}
	in := bufio.NewReader(resp.Body)
	heard := false
	for {
		event, err := readEvent(in, func() {
			heard = true
			watchdog.Reset(w.client.patienceWith(silence))
		})
		if err != nil && !heard {
			return late(ctx, err)
		}
		if err != nil {
			return &Unreachable{Address: w.client.base, Err: fmt.Errorf("the stream of events broke off: %w", err)}
		}
		w.streamed = true
		if err := w.take(event); err != nil || event.name == "end" {
			return err
		}
	}
}

// late tells a stream whose beginning does not come through from a server that gave another answer.
func late(ctx context.Context, err error) error {
	e, ours := errors.AsType[*task.Error](err)
	if ctx.Err() != nil || ours && e.Code == task.NotFound { // or one that knows no events: a poll tells
		return errNoStream
	}
	return err
}

// patienceWith is how long something may take: in tests less than usual.
func (c *Client) patienceWith(usual time.Duration) time.Duration {
	if c.Silence > 0 {
		return min(c.Silence, usual)
	}
	return usual
}

// take shows what an event tells.
func (w *watch) take(e event) error {
	switch e.name {
	case "task":
		var t task.Task
		if err := json.Unmarshal(e.data, &t); err != nil {
			return &Unreachable{Address: w.client.base, Err: fmt.Errorf("the event is not from longhaul: %w", err)}
		}
		w.show(t)
	case "text":
		var text task.Text
		if w.onText != nil && json.Unmarshal(e.data, &text) == nil {
			w.onText(text)
		}
	}
	return nil
}

// event is one of Server-Sent Events.
type event struct {
	name string
	data []byte
}

// readEvent reads up to the end of an event. Alive is called with every line, also those that only say that all is well.
func readEvent(in *bufio.Reader, alive func()) (event, error) {
	var e event
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return e, err
		}
		alive()
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && e.name != "":
			return e, nil
		case field == "event":
			e.name = value
		case field == "data":
			e.data = append(e.data, value...)
		}
	}
}
