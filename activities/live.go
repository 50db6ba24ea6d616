package activities

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"

	"longhaul/internal/llm"
	"longhaul/internal/storage"
)

// Live is a text that a model is writing, from its beginning on, for those who watch the task.
type Live struct {
	Item   *int   `json:",omitempty"` // that it will be the result of; nil for the task itself
	Text   string `json:",omitempty"` // all of it so far
	Key    string `json:",omitempty"` // of the text in the bucket, instead, when it is too long for a heartbeat
	Length int    // in bytes
}

// mostInBeat is how many bytes of a text a heartbeat carries: Temporal keeps each of them.
const mostInBeat = 8 << 10

// show is how a text is shown while it grows.
type show struct {
	item    *int
	read    func(raw string) string // what a reader sees of it
	key     string                  // where a long one goes
	bucket  *storage.Bucket
	writing atomic.Bool
	raw     string // as the model has written it so far; guarded by the heart
}

// shows has the answer of the next call shown while it is being written. It is for the one call whose text a person
// waits for, and not for the many of a batch.
func (a *Activities) shows(ctx context.Context, h *heart, t Task, item *int, read func(raw string) string) {
	info := activity.GetInfo(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.show = &show{item: item, read: read, key: storage.LiveKey(t.ID, path.Base(info.WorkflowExecution.ID)+"-"+info.ActivityID), bucket: a.Bucket}
}

// plain shows a text as it is.
func plain(raw string) string { return raw }

// grew notes how far an answer is; nothing yet begins another one.
func (h *heart) grew(p llm.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beat.Bytes = p.Bytes
	if h.show != nil {
		h.show.raw = p.Text
	}
	if p.Text == "" {
		h.beat.Live = nil
	}
}

// tellText puts the text so far into the beat that goes out next. One that is too long goes into the bucket, beside the beating.
func (h *heart) tellText(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.show
	if s == nil || s.raw == "" {
		return
	}
	raw, text := s.raw, s.read(s.raw)
	if len(text) <= mostInBeat {
		h.beat.Live = &Live{Item: s.item, Text: text, Length: len(text)}
		return
	}
	if !s.writing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.writing.Store(false)
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if s.bucket.Put(limited, s.key, "text/plain; charset=utf-8", []byte(text)) != nil {
			return // the next beat tries again
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if strings.HasPrefix(s.raw, raw) { // and not another call's by now
			h.beat.Live = &Live{Item: s.item, Key: s.key, Length: len(text)}
		}
	}()
}

// answerSoFar is the answer in a reply that is still being written, whose form is JSON.
func answerSoFar(raw string) string {
	in := json.NewDecoder(strings.NewReader(raw))
	depth, isKey := 0, false
	for {
		token, err := in.Token()
		if err != nil {
			return ""
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			isKey = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			isKey = depth == 1
			continue
		}
		if depth != 1 {
			continue
		}
		if isKey && token == "answer" {
			return unquoted(raw[in.InputOffset():])
		}
		isKey = !isKey
	}
}

// unquoted is what the beginning of a JSON string, after its colon, says as far as it goes.
func unquoted(rest string) string {
	rest = strings.TrimLeft(rest, ": \t\r\n")
	if !strings.HasPrefix(rest, `"`) {
		return ""
	}
	var text string
	for end := len(rest); end > 0 && end > len(rest)-12; end-- { // without the part of an escape at its end
		if part := rest[:end]; utf8.ValidString(part) && json.Unmarshal([]byte(part+`"`), &text) == nil {
			return text
		}
	}
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&text); err != nil { // it has ended, and more follows
		return ""
	}
	return text
}
