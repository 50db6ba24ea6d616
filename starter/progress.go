package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"longhaul/client"
)

// progress returns a function that shows the progress of a task: with a bar on a terminal, else with a line for each change. stop
// removes the bar.
func (c *cli) progress(ctx context.Context) (show func(client.Task), stop func()) {
	if c.live() {
		return c.bar(ctx)
	}
	last := ""
	return func(t client.Task) {
		if line := statusLine(t); line != last {
			c.note("%s %s", time.Now().Format(time.TimeOnly), line)
			last = line
		}
	}, func() {}
}

func (c *cli) bar(ctx context.Context) (show func(client.Task), stop func()) {
	var text atomic.Value
	text.Store("")
	bars := mpb.NewWithContext(ctx, mpb.WithOutput(c.err), mpb.WithWidth(32))
	bar := bars.AddBar(100, mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
		line, _ := text.Load().(string)
		return " " + line
	})))
	return func(t client.Task) {
			text.Store(printable(statusLine(t)))
			if t.Progress.Percent != nil {
				bar.SetCurrent(min(int64(*t.Progress.Percent), 99))
			}
		}, func() {
			bar.Abort(true)
			bars.Wait()
		}
}

// statusLine returns the status and the progress of a task in a line.
func statusLine(t client.Task) string {
	p := t.Progress
	parts := []string{string(t.Status)}
	if t.Outcome == client.Partial && t.Status == client.Succeeded {
		parts[0] += " (partial)"
	}
	if p.Percent != nil && (!t.Done || t.Status == client.Succeeded) {
		parts = append(parts, fmt.Sprintf("%d%%", *p.Percent))
	}
	if p.Step != "" && !t.Done {
		parts = append(parts, p.Step)
	}
	if p.Counts.Total > 0 {
		parts = append(parts, countsText(p.Counts))
	}
	switch {
	case t.Done:
	case t.Status == client.Paused && t.Waiting != nil:
		parts = append(parts, waitText(t))
	case len(t.InputRequests) > 0:
		parts = append(parts, openRequests(t))
	case t.Stalled != nil:
		parts = append(parts, fmt.Sprintf("stalled since %s: %s", t.Stalled.Since.Local().Format(time.TimeOnly), t.Stalled.Detail))
	case t.Waiting != nil:
		parts = append(parts, waitText(t))
	case t.Retrying != nil:
		parts = append(parts, fmt.Sprintf("retrying %s (attempt %d): %s", t.Retrying.Step, t.Retrying.Attempt, t.Retrying.LastError))
	case p.Message != "" && p.Counts.Total == 0:
		parts = append(parts, p.Message)
	case p.ETA != nil:
		parts = append(parts, fmt.Sprintf("about %s left", time.Duration(p.ETA.Seconds)*time.Second))
	}
	return strings.Join(parts, " · ")
}

// waitText returns what a task waits for; the status of a paused task says so itself.
func waitText(t client.Task) string {
	w, text := t.Waiting, t.Waiting.Detail
	if w.Reason != client.WaitPaused {
		text = strings.TrimSuffix(fmt.Sprintf("waiting (%s): %s", w.Reason, text), ": ")
	}
	if w.Until != nil {
		text += " until " + w.Until.Local().Format(time.DateTime)
	}
	return text
}

func countsText(n client.Counts) string {
	line := fmt.Sprintf("%d of %d", n.Succeeded, n.Total)
	if n.Failed > 0 {
		line += fmt.Sprintf(", %d failed", n.Failed)
	}
	if n.Cancelled > 0 {
		line += fmt.Sprintf(", %d cancelled", n.Cancelled)
	}
	return line
}
