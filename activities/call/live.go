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

// maxInlineText is the longest text, in bytes, that a heartbeat carries: Temporal keeps each heartbeat.
const maxInlineText = 8 << 10

// liveText is how a text is shown while it grows.
type liveText struct {
	item    *int
	read    func(raw string) string // what a reader sees of it
	key     string                  // where a long one goes
	bucket  *storage.Bucket
	writing atomic.Bool
	raw     string // as the model has written it so far; guarded by the heart
}

// ShowText shows the answer of the next call while it is written. Use it for the one call whose text a person waits
// for, not for the many calls of a batch.
func (a *Caller) ShowText(ctx context.Context, h *Heartbeat, t record.TaskRef, item *int, read func(raw string) string) {
	info := activity.GetInfo(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = &liveText{item: item, read: read, key: storage.LiveKey(t.ID, path.Base(info.WorkflowExecution.ID)+"-"+info.ActivityID), bucket: a.Bucket}
}

// PlainText shows a text unchanged.
func PlainText(raw string) string { return raw }

// Grow shows how much of an answer was received; an empty text starts another answer.
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

// updateLive puts the text so far into the next heartbeat. A text that is too long goes to the bucket, without
// delaying the heartbeat.
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
