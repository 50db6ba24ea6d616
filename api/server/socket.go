package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

type socketRequest struct {
	raw
	ID    string `path:"id" doc:"the task's id"`
	After int64  `query:"after_revision" default:"-1" doc:"states up to this revision are not sent"`
}

// socket is events over WebSocket, with a way back: to cancel the task, and to say something to it.
func (s *server) socket(ctx context.Context, in *socketRequest) (*stream, error) {
	if _, err := s.Tasks.Get(ctx, tenant(ctx), in.ID); err != nil {
		return nil, err
	}
	if !strings.EqualFold(in.request.Header.Get("Upgrade"), "websocket") {
		return nil, task.Errorf(task.BadRequest, "this is for WebSocket, and the request does not ask for one: a proxy must pass on the headers Upgrade and Connection. GET /v1/tasks/%s/events has the same as a stream", in.ID)
	}
	if err := ownOrigin(in.request); err != nil {
		return nil, err
	}
	feed, err := s.Tasks.Events(ctx, tenant(ctx), in.ID, in.After)
	if err != nil {
		return nil, err
	}
	return streaming(func(w http.ResponseWriter, r *http.Request) {
		defer feed.Close()
		defer asSocket(r.Context())()
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // it has been answered
		}
		defer func() { _ = conn.CloseNow() }()
		s.converse(r.Context(), conn, feed, in.ID)
	}), nil
}

// ownOrigin refuses the pages of other sites: a browser would send them our cookies and reach what only it can reach.
func ownOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if _, host, _ := strings.Cut(origin, "://"); origin != "" && !strings.EqualFold(host, r.Host) {
		return task.Errorf(task.Forbidden, "a WebSocket can be opened by pages of this address alone: the page is of %s and the request for %s. A proxy must pass on the header Host, with its port", host, r.Host)
	}
	return nil
}

// converse sends what happens and hears what is said, until the task ends, the other side leaves or the server stops.
func (s *server) converse(ctx context.Context, conn *websocket.Conn, feed task.Feed, id string) {
	talk := &frames{conn: conn, ctx: ctx} // which a stop leaves alone: it would cut the connection without a word
	listening, cancel := untilStop(ctx, noLimit)
	defer cancel()
	go func() {
		defer cancel()
		s.hear(ctx, talk, id)
	}()
	s.pump(listening, feed, talk)
	if talk.ended {
		_ = conn.Close(websocket.StatusNormalClosure, "the task has ended")
		return
	}
	_ = conn.Close(websocket.StatusGoingAway, "come back in a moment")
}

// hear does what the other side says.
func (s *server) hear(ctx context.Context, talk *frames, id string) {
	talk.conn.SetReadLimit(s.Limits.MaxBody)
	for {
		_, text, err := talk.conn.Read(ctx)
		if err != nil {
			return
		}
		if err := s.obey(ctx, id, text); err != nil {
			talk.send(frame{Type: "error", Error: s.problem(ctx, err).shown})
		}
	}
}

// obey does what one message says: {"type":"cancel"}, or {"type":"input"} with the fields of POST /v1/tasks/{id}/input.
func (s *server) obey(ctx context.Context, id string, text []byte) error {
	var message map[string]json.RawMessage
	if err := schema.WellFormed(text); err != nil {
		return err
	}
	if json.Unmarshal(text, &message) != nil {
		return task.Errorf(task.BadRequest, "a message must be a JSON object with a type")
	}
	var kind string
	_ = json.Unmarshal(message["type"], &kind) // what is no text is no type of ours
	switch kind {
	case "cancel":
		_, err := s.Tasks.Cancel(ctx, tenant(ctx), id)
		return err
	case "input":
		delete(message, "type")
		return s.say(ctx, id, message)
	default:
		return task.Errorf(task.Invalid, "the type of a message must be cancel or input")
	}
}

func (s *server) say(ctx context.Context, id string, message map[string]json.RawMessage) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if found := s.bodiesOf["input"].Check(text); len(found) > 0 {
		return task.Unfit(found)
	}
	var body inputBody
	if err := json.Unmarshal(text, &body); err != nil {
		return task.Errorf(task.Invalid, "the message is not valid: %v", err)
	}
	reply, err := body.reply()
	if err == nil {
		_, err = s.Tasks.Input(ctx, tenant(ctx), id, reply)
	}
	return err
}

// frame is a message to the other side.
type frame struct {
	Type string     `json:"type"`
	Task *task.Task `json:"task,omitempty"`
	*task.Text
	Error *task.Error `json:"error,omitempty"`
}

// frames are news over WebSocket.
type frames struct {
	conn  *websocket.Conn
	ctx   context.Context
	ended bool
}

func (f *frames) alive() bool { return true } // else its hearing ends, and with it the pump

func (f *frames) tell(news task.News) {
	switch {
	case news.Text != nil:
		f.send(frame{Type: "text", Text: news.Text})
	case news.Task != nil:
		f.send(frame{Type: "task", Task: news.Task})
	}
}

func (f *frames) end() {
	f.send(frame{Type: "end"})
	f.ended = true
}

// beat finds out whether the other side is still there.
func (f *frames) beat() {
	ctx, cancel := context.WithTimeout(f.ctx, streamTime)
	defer cancel()
	if f.conn.Ping(ctx) != nil {
		_ = f.conn.CloseNow() // which ends the hearing, and with it all
	}
}

func (f *frames) send(m frame) {
	text, err := json.Marshal(m)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(f.ctx, streamTime)
	defer cancel()
	if f.conn.Write(ctx, websocket.MessageText, text) != nil {
		_ = f.conn.CloseNow()
	}
}

// noLimit is for what ends with its listener.
const noLimit = 365 * 24 * time.Hour
