package engine

import (
	"context"
	"fmt"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// liveText is the text that a model call has written so far, from the call's last heartbeat.
type liveText struct {
	call string // identifies the call and its repetition: a repeated call writes its text anew
	record.LiveText
}

// liveTexts returns the texts in the heartbeats of pending activities.
func liveTexts(pending []*workflowpb.PendingActivityInfo) []liveText {
	var texts []liveText
	for _, p := range pending {
		var beat record.Heartbeat
		if converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &beat) == nil && beat.Live != nil {
			texts = append(texts, liveText{fmt.Sprintf("%s/%d", p.GetActivityId(), beat.Call.Calls), *beat.Live})
		}
	}
	return texts
}

// itemIndex returns the index of the item that the text is for; -1 means the task itself.
func (t liveText) itemIndex() int {
	if t.Item == nil {
		return -1
	}
	return *t.Item
}

// readLiveText returns the text so far. A long text lies in the bucket; concurrent listeners share one read.
func (e *Engine) readLiveText(ctx context.Context, t liveText) (string, error) {
	if t.Key == "" {
		return t.Text, nil
	}
	data, err, _ := e.views.reads.Do(fmt.Sprint(t.Key, " ", t.Length), func() (any, error) {
		return e.Bucket.Get(context.WithoutCancel(ctx), t.Key)
	})
	text, _ := data.([]byte)
	return string(text), err
}

// sentText records how much of a text a listener has.
type sentText struct {
	call   string
	length int // bytes
}

// advance returns the part of a text that the listener does not have, and counts it as sent; nil if there is none. A text of
// another call is sent from its beginning, with Restart set.
func (s *sentText) advance(t liveText, content string) *task.Text {
	switch {
	case s.call != t.call:
		restart := s.call != ""
		s.call, s.length = t.call, len(content)
		if content == "" && !restart {
			return nil
		}
		return &task.Text{Item: t.Item, Text: content, Restart: restart}
	case len(content) > s.length:
		part := &task.Text{Item: t.Item, Offset: s.length, Text: content[s.length:]}
		s.length = len(content)
		return part
	default:
		return nil
	}
}
