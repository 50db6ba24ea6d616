package call

import (
	"context"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
)

// mostInBeat is how many bytes of a text a heartbeat carries: Temporal keeps each of them.
const maxInlineText = 8 << 10

// show is how a text is shown while it grows.
type liveText struct {
	item    *int
	read    func(raw string) string // what a reader sees of it
	key     string                  // where a long one goes
	bucket  *storage.Bucket
	writing atomic.Bool
	raw     string // as the model has written it so far; guarded by the heart
}

// shows has the answer of the next call shown while it is being written. It is for the one call whose text a person
// waits for, and not for the many of a batch.
func (a *Caller) ShowText(ctx context.Context, h *Heartbeat, t record.TaskRef, item *int, read func(raw string) string) {
	info := activity.GetInfo(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = &liveText{item: item, read: read, key: storage.LiveKey(t.ID, path.Base(info.WorkflowExecution.ID)+"-"+info.ActivityID), bucket: a.Bucket}
}

// plain shows a text as it is.
func PlainText(raw string) string { return raw }

// grew notes how far an answer is; nothing yet begins another one.
func (h *Heartbeat) Grow(p llm.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Bytes = p.Bytes
	if h.live != nil {
		h.live.raw = p.Text
	}
	if p.Text == "" {
		h.state.Live = nil
	}
}

// tellText puts the text so far into the beat that goes out next. One that is too long goes into the bucket, beside the beating.
func (h *Heartbeat) updateLive(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.live
	if s == nil || s.raw == "" {
		return
	}
	raw, text := s.raw, s.read(s.raw)
	if len(text) <= maxInlineText {
		h.state.Live = &record.LiveText{Item: s.item, Text: text, Length: len(text)}
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
			h.state.Live = &record.LiveText{Item: s.item, Key: s.key, Length: len(text)}
		}
	}()
}
