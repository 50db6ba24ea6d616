package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/task"
)

// How a stream is kept.
const (
	usualBeat  = 15 * time.Second // between two signs of life; proxies cut what is silent for a minute
	streamTime = 10 * time.Second // in which a listener must take what is written
	comeBack   = 2 * time.Second  // after which one whose stream was cut comes back
)

const eventStream = "text/event-stream"

type eventsRequest struct {
	raw
	ID     string `path:"id" doc:"the task's id"`
	Accept string `header:"Accept" doc:"with text/event-stream the answer is a stream, else a list of one: the task as it stands"`
	LastID string `header:"Last-Event-ID" doc:"id of the last event that was received: it and those before are not sent again"`
	After  int64  `query:"after_revision" default:"-1" doc:"as Last-Event-ID, which wins; of a list: it is empty unless the revision is higher"`
}

// events streams the states of a task until it ends, or lists the present one.
func (s *server) events(ctx context.Context, in *eventsRequest) (*stream, error) {
	if !wantsStream(in.Accept) {
		t, err := s.Tasks.Get(ctx, tenant(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		page := task.Page[task.Task]{Object: "list", Data: []task.Task{}}
		if t.Revision > in.After {
			page.Data = append(page.Data, t)
		}
		return pageOf(page), nil
	}
	feed, err := s.Tasks.Events(ctx, tenant(ctx), in.ID, lastSeen(in.LastID, in.After))
	if err != nil {
		return nil, err
	}
	return s.stream(feed), nil
}

type allEventsRequest struct {
	raw
	Accept string `header:"Accept" doc:"must allow text/event-stream"`
	LastID string `header:"Last-Event-ID" doc:"id of the last event that was received: tasks that ended since are sent, too"`
}

// allEvents streams all tasks of a tenant as they come and change.
func (s *server) allEvents(ctx context.Context, in *allEventsRequest) (*stream, error) {
	if !wantsStream(in.Accept) {
		return nil, task.Errorf(task.BadRequest, "this is a stream: ask for it with Accept: text/event-stream, or list tasks with GET /v1/tasks")
	}
	feed, err := s.Tasks.AllEvents(ctx, tenant(ctx), time.UnixMilli(lastSeen(in.LastID, 0)))
	if err != nil {
		return nil, err
	}
	return s.stream(feed), nil
}

func wantsStream(accept string) bool { return strings.Contains(strings.ToLower(accept), eventStream) }

// lastSeen reads the id of an event. An id that this API never sends counts as no id: the client receives the present state.
func lastSeen(id string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

func pageOf(page task.Page[task.Task]) *stream {
	return streaming(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, http.StatusOK, "application/json", page)
	})
}

// stream answers with the news of a feed, which it closes.
func (s *server) stream(feed task.Feed) *stream {
	return streaming(func(w http.ResponseWriter, r *http.Request) {
		defer feed.Close()
		flush := hurry(w, streamTime)
		h := w.Header()
		h.Set("Content-Type", eventStream)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		lines := &eventLines{w: w, flush: flush}
		lines.retry(comeBack)
		ctx, cancel := untilStop(r.Context(), noLimit)
		defer cancel()
		s.pump(ctx, feed, lines)
		if ctx.Err() != nil { // we stop: those who listened come back one after the other
			lines.retry(comeBack/4 + rand.N(comeBack))
		}
	})
}

// pump hands on the news of a feed until its end, until nobody listens any more, or until the server stops.
func (s *server) pump(ctx context.Context, feed task.Feed, to outlet) {
	for ctx.Err() == nil && to.alive() {
		limited, cancel := context.WithTimeout(ctx, s.Heartbeat)
		news, err := feed.Next(limited)
		cancel()
		switch {
		case err == nil:
			to.tell(news)
		case errors.Is(err, io.EOF):
			to.end()
			return
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			to.beat()
		default: // the listener comes back, and is told what is wrong
			return
		}
	}
}

// outlet is where news goes: to a listener, until it has gone.
type outlet interface {
	tell(news task.News)
	beat()
	end()
	alive() bool
}

// eventLines are Server-Sent Events. After an error they are silent.
type eventLines struct {
	w     io.Writer
	flush func() error
	err   error
}

func (l *eventLines) alive() bool { return l.err == nil }

func (l *eventLines) write(text string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, text)
	}
	if l.err == nil {
		l.err = l.flush()
	}
}

func (l *eventLines) retry(after time.Duration) {
	l.write(fmt.Sprintf("retry: %d\n\n", after.Milliseconds()))
}

func (l *eventLines) beat() { l.write(": the task goes on\n\n") }

func (l *eventLines) end() { l.event("", "end", struct{}{}) }

// tell writes an event. What has no revision of its own has no id either: it does not move what a reader goes on from.
func (l *eventLines) tell(news task.News) {
	switch {
	case news.Text != nil:
		l.event("", "text", news.Text)
	case news.Task != nil:
		l.event(eventID(news), "task", news.Task)
	}
}

func eventID(news task.News) string {
	switch {
	case news.Mark > 0:
		return strconv.FormatInt(news.Mark, 10)
	case news.Quiet:
		return ""
	default:
		return strconv.FormatInt(news.Task.Revision, 10)
	}
}

func (l *eventLines) event(id, name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		l.err = err
		return
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	l.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, name, text))
}
