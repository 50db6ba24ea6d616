package engine

import (
	"context"
	"fmt"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// growing is a text that a model is writing: as far as a heartbeat has told of it.
type growing struct {
	call string // another one is another text
	record.LiveText
}

// growingIn finds the texts in what pending activities last told.
func growingIn(pending []*workflowpb.PendingActivityInfo) []growing {
	var all []growing
	for _, p := range pending {
		var beat record.Heartbeat
		if converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &beat) == nil && beat.Live != nil {
			all = append(all, growing{fmt.Sprintf("%s/%d", p.GetActivityId(), beat.Call.Calls), *beat.Live})
		}
	}
	return all
}

// item names the item that a text is for; -1 is the task.
func (g growing) item() int {
	if g.Item == nil {
		return -1
	}
	return *g.Item
}

// textOf is a text so far. A long one is in the bucket, where one read serves all who listen.
func (e *Engine) textOf(ctx context.Context, g growing) (string, error) {
	if g.Key == "" {
		return g.Text, nil
	}
	got, err, _ := e.views.looks.Do(fmt.Sprint(g.Key, " ", g.Length), func() (any, error) {
		return e.Bucket.Get(context.WithoutCancel(ctx), g.Key)
	})
	text, _ := got.([]byte)
	return string(text), err
}

// heardText is what a listener has of a text.
type heardText struct {
	call   string
	length int
}

// more is the part of a text that a listener does not have yet; nil if there is none.
func (h *heardText) more(g growing, text string) *task.Text {
	switch {
	case h.call != g.call:
		again := h.call != ""
		h.call, h.length = g.call, len(text)
		if text == "" && !again {
			return nil
		}
		return &task.Text{Item: g.Item, Text: text, Restart: again}
	case len(text) > h.length:
		part := &task.Text{Item: g.Item, Offset: h.length, Text: text[h.length:]}
		h.length = len(text)
		return part
	default:
		return nil
	}
}
