package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"longhaul/internal/notify"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// mail makes one attempt to send a message as a mail. Slow is set if the mail server did not answer in time. A mail that went out is sent again
// only if that could not be written down: its Message-ID is then the same.
func (a *Activities) mail(ctx context.Context, d storage.Delivery, mailbox string, slow *bool) (task.DeliveryStatus, error) {
	if a.Mailer == nil {
		return a.end(ctx, d, task.DeliveryFailed, "no mail server is configured (smtp.host)")
	}
	others, told, err := a.together(ctx, &d)
	switch {
	case err != nil:
		return "", err
	case told:
		return a.end(ctx, d, task.DeliveryDelivered, "told in one mail with others")
	case a.Mailer.Busy():
		return "", later("many mails went out lately", 2*time.Second)
	}
	if err := a.begin(ctx, &d); err != nil {
		return "", err
	}
	began := time.Now()
	answer := a.post(ctx, d.ID, letter(d, mailbox, others))
	took := time.Since(began)
	*slow = answer.Slow
	status, err := a.settle(ctx, d, answer, took)
	if err != nil || answer.Err != nil {
		return status, err
	}
	if err := a.forget(context.WithoutCancel(ctx), d, others); err != nil {
		a.Log.WarnContext(ctx, "failures that a mail told of will be told of again in the next", "delivery", d.ID, "error", err)
	}
	return status, nil
}

func (a *Activities) post(ctx context.Context, id string, what notify.Mail) notify.Answer {
	if a.Mailer == nil {
		return notify.Answer{Err: errors.New("no mail server is configured (smtp.host)"), Final: true}
	}
	return a.Mailer.Send(ctx, id, what)
}

// alert is a failure that a registered mailbox is to be told of.
type alert struct {
	Delivery string `json:"delivery"`
	Task     string `json:"task"`
}

// together sees to it that a registered mailbox gets one mail in a window of time, however many tasks fail: the first
// failure of a window is told with all that wait, and the others of that window wait for the next. Told is true for one
// that went with another's mail.
func (a *Activities) together(ctx context.Context, d *storage.Delivery) (others []alert, told bool, err error) {
	if d.Webhook == "" || d.Event != task.OnFailed && d.Event != task.OnDeadLettered {
		return nil, false, nil
	}
	mine := storage.AlertsPrefix(d.Tenant, d.Webhook) + d.ID + ".json"
	if d.Held {
		waits, err := a.Bucket.Exists(ctx, mine)
		if err != nil || !waits {
			return nil, err == nil, err
		}
	} else {
		d.Held = true
		err := errors.Join(a.Bucket.PutJSON(ctx, mine, alert{Delivery: d.ID, Task: d.Task}), a.Deliveries.Put(ctx, *d))
		if err != nil {
			return nil, false, err
		}
	}
	if err := a.claim(ctx, d); err != nil {
		return nil, false, err
	}
	others, err = a.waiting(ctx, *d)
	return others, false, err
}

// claim takes the window of time for a message, or has it wait for the next one.
func (a *Activities) claim(ctx context.Context, d *storage.Delivery) error {
	now := time.Now()
	window := now.UnixNano() / int64(a.AlertEvery)
	key := storage.AlertWindowKey(d.Tenant, d.Webhook, window)
	won, err := a.Bucket.PutNewJSON(ctx, key, alert{Delivery: d.ID, Task: d.Task})
	if err != nil || won {
		return err
	}
	var holder alert
	if err := a.Bucket.GetJSON(ctx, key, &holder); err != nil || holder.Delivery == d.ID {
		return err
	}
	next := time.Unix(0, (window+1)*int64(a.AlertEvery))
	d.NextAttemptAt = new(next.UTC())
	d.Detail = "it is told together with others, to send no flood of mails"
	if err := a.Deliveries.Put(ctx, *d); err != nil {
		return err
	}
	return later("another mail went out lately", next.Sub(now)+time.Millisecond)
}

// waiting are the other failures that the mailbox has not been told of.
func (a *Activities) waiting(ctx context.Context, d storage.Delivery) ([]alert, error) {
	entries, err := a.Bucket.List(ctx, storage.AlertsPrefix(d.Tenant, d.Webhook))
	var all []alert
	for _, entry := range entries {
		var other alert
		err := a.Bucket.GetJSON(ctx, storage.AlertsPrefix(d.Tenant, d.Webhook)+entry.Name, &other)
		switch {
		case err != nil && !errors.Is(err, storage.ErrNotFound):
			return nil, err
		case err == nil && other.Delivery != d.ID:
			all = append(all, other)
		}
	}
	return all, err
}

// forget takes the failures that were told off the list.
func (a *Activities) forget(ctx context.Context, d storage.Delivery, others []alert) error {
	if !d.Held {
		return nil
	}
	var err error
	for _, told := range append(others, alert{Delivery: d.ID}) {
		err = errors.Join(err, a.Bucket.Delete(ctx, storage.AlertsPrefix(d.Tenant, d.Webhook)+told.Delivery+".json"))
	}
	return err
}

// mostListed is how many other tasks a mail names.
const mostListed = 20

var letterText = template.Must(template.New("mail").Parse(`Task {{.Data.ID}} ({{.Data.Kind}}): {{.Data.Status}}{{with .Data.Outcome}}, {{.}}{{end}}
{{with .Data.Error}}
Why: {{.Detail}} ({{.Code}}{{if .Attempts}}, after {{.Attempts}} attempts{{end}})
{{end}}{{if .Data.InputRequests}}
It waits for a person to answer.
{{end}}{{range $name, $value := .Data.Labels}}
{{$name}}: {{$value}}{{end}}
Read it: {{.Page}}
{{with .Others}}
So did {{$.Count}} more since the last mail:
{{range .}}  {{.Task}}
{{end}}{{end}}
This message is {{.ID}}; a mail with the same number is the same message.
`))

// letter is the mail of a message, with the other failures that it tells of.
func letter(d storage.Delivery, mailbox string, others []alert) notify.Mail {
	in := struct {
		bulletin
		ID     string
		Page   string // where a person reads it; what the message links to is for programs, and asks for a key
		Others []alert
		Count  int
	}{ID: d.ID, Others: others[:min(len(others), mostListed)], Count: len(others)}
	_ = json.Unmarshal([]byte(d.Body), &in.bulletin) // we wrote it
	in.Page = strings.Replace(in.Data.URL, "/v1/tasks/", "/tasks/", 1)
	subject := fmt.Sprintf("[longhaul] %s task: %s", in.Data.Kind, strings.TrimPrefix(string(d.Event), "task."))
	if n := len(others); n > 0 {
		subject = fmt.Sprintf("[longhaul] %d tasks: %s", n+1, strings.TrimPrefix(string(d.Event), "task."))
	}
	var text strings.Builder
	_ = letterText.Execute(&text, in) // a strings.Builder takes everything
	return notify.Mail{To: mailbox, Subject: strings.ReplaceAll(subject, "_", " "), Text: text.String()}
}
