package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// How long a stream may send nothing. The server sends the first line at once, and then at least a comment every 15 seconds,
// unless api.heartbeat says otherwise.
const (
	firstLineTimeout = 5 * time.Second
	lineTimeout      = 50 * time.Second
)

// errNoStream is the error of a stream whose first line does not arrive.
var errNoStream = errors.New("no event stream arrives; a proxy may hold it back")

// readEvents passes the events of a stream on until its event "end", which is not passed on. It starts after lastID; "" starts
// with the present state. A stream that breaks or falls silent is NoAnswer.
func (c *Client) readEvents(ctx context.Context, path, lastID string, handle func(event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(c.streamTimeout(firstLineTimeout), cancel)
	defer watchdog.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: path, header: header})
	if err != nil {
		return withoutStream(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "text/event-stream" {
		return errNoStream
	}
	in := bufio.NewReader(resp.Body)
	started := false
	for {
		e, err := readEvent(in, func() {
			started = true
			watchdog.Reset(c.streamTimeout(lineTimeout))
		})
		switch {
		case err != nil && !started:
			return withoutStream(ctx, err)
		case err != nil:
			return c.noAnswer(context.Background(), fmt.Errorf("the event stream broke off: %w", err))
		case e.name == "end":
			return nil
		}
		if err := handle(e); err != nil {
			return err
		}
	}
}

// withoutStream tells a stream that does not begin, and a server without events, from other errors.
func withoutStream(ctx context.Context, err error) error {
	e, ok := errors.AsType[*Error](err)
	if ctx.Err() != nil || ok && e.Code == NotFound {
		return errNoStream
	}
	return err
}

// streamTimeout returns the timeout that is in force in place of the usual one.
func (c *Client) streamTimeout(usual time.Duration) time.Duration {
	if c.StreamTimeout > 0 {
		return min(c.StreamTimeout, usual)
	}
	return usual
}

// event is a Server-Sent Event. Its id is "" where the stream cannot be resumed after it.
type event struct {
	name, id string
	data     []byte
}

// readEvent reads the next event. It calls alive with every line, comments included.
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
		case field == "id":
			e.id = value
		case field == "data":
			e.data = append(e.data, value...)
		}
	}
}
