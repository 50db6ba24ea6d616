package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"longhaul/internal/notify"
	"longhaul/internal/notify/notifytest"
	"longhaul/internal/storage"
	"longhaul/internal/storage/storagetest"
	"longhaul/internal/task"
)

// post is a place where messages are made and sent, on a bucket in memory.
type post struct {
	*Activities
	t     *testing.T
	tasks map[string]task.Task
}

// Standing tells of a task as the test left it.
func (p *post) Standing(_ context.Context, _, id string) (task.Task, error) {
	t, ok := p.tasks[id]
	if !ok {
		return t, task.Errorf(task.NotFound, "no task %q", id)
	}
	return t, nil
}

func newPost(t *testing.T) *post {
	t.Helper()
	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	return newPostWith(t, b)
}

func newPostWith(t *testing.T, b *storage.Bucket) *post {
	t.Helper()
	p := &post{t: t, tasks: map[string]task.Task{}}
	p.Activities = &Activities{
		Bucket: b, Endpoints: storage.NewEndpoints(b), Deliveries: storage.NewDeliveries(b), Tasks: p,
		Sender: notify.NewSender([]string{"127.0.0.1"}, time.Second), Retries: notify.Schedule{time.Minute, time.Minute},
		AlertEvery: time.Hour, PublicURL: "https://tasks.example.com", Log: slog.New(slog.DiscardHandler),
	}
	return p
}

// mailbox gives the post a mail server.
func (p *post) mailbox(codes ...int) *notifytest.Mailbox {
	box, err := notifytest.NewMailbox(notifytest.Refuse(codes...))
	require.NoError(p.t, err)
	p.t.Cleanup(box.Close)
	p.Mailer, err = notify.NewMailer(notify.MailServer{
		Host: "127.0.0.1", Port: box.Port(), From: "longhaul <longhaul@example.com>", TLS: "none", Timeout: 5 * time.Second, AMinute: 6000,
	})
	require.NoError(p.t, err)
	return box
}

// end is a task that ended, and gives its id.
func (p *post) end(n int, change func(*task.Task)) string {
	id := fmt.Sprintf("task_%026d", n)
	id = strings.NewReplacer("0", "a", "1", "b").Replace(id)
	t := task.Task{
		ID: id, Kind: "summary", Status: task.Succeeded, Done: true, Outcome: task.Full, Revision: 9, URLs: task.URLs{Self: "/v1/tasks/" + id},
		FinishedAt: new(time.Now()), Labels: map[string]string{},
	}
	if change != nil {
		change(&t)
	}
	p.tasks[id] = t
	return id
}

func failing(t *task.Task) {
	t.Status, t.Outcome, t.DeadLetter = task.Failed, task.None, true
	t.Error = task.Errorf(task.ModelAuth, "the key is refused")
	t.Error.Attempts = 3
}

// run runs an activity as Temporal would.
func run[In, Out any](t *testing.T, activity func(context.Context, In) (Out, error), in In) (out Out, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(activity)
	value, err := env.ExecuteActivity(activity, in)
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// prepare makes the messages of the end of a task.
func (p *post) prepare(id string, wanted storage.Notice) []Addressed {
	p.t.Helper()
	key := storage.NoticeKey(id, "test")
	require.NoError(p.t, p.Bucket.PutJSON(p.t.Context(), key, wanted))
	ready, err := run(p.t, p.PrepareNotices, NoticeRequest{Task: id, Tenant: "acme", Notice: key})
	require.NoError(p.t, err)
	return ready
}

// deliver makes one attempt, and gives what is written of the message then.
func (p *post) deliver(id, round string) (storage.Delivery, error) {
	p.t.Helper()
	_, err := run(p.t, p.Deliver, DeliverRequest{ID: id, Round: round})
	d, readErr := p.Deliveries.Get(p.t.Context(), id)
	require.NoError(p.t, readErr)
	return d, err
}

// requireLater checks that an error asks to be called again, and gives when.
func requireLater(t *testing.T, err error) time.Duration {
	t.Helper()
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "%v", err)
	require.False(t, app.NonRetryable())
	return app.NextRetryDelay()
}

func TestNotices_whoHearsOfWhat(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	add := func(events ...task.Occasion) string {
		e, err := p.Endpoints.Add(t.Context(), "acme", storage.Endpoint{Endpoint: task.Endpoint{URL: "https://example.com/", Events: events}})
		require.NoError(t, err)
		return e.ID
	}
	names := map[string]string{add(): "all", add(task.OnFailed): "failures", add(task.OnDeadLettered): "dead letters", add(task.OnSucceeded, task.OnDeadLettered): "both"}
	wanted := storage.Notice{Endpoints: []string{"wh_aaaaaaaaaaaaaaaaaaaaaaaaaa"}} // removed since
	for id := range names {
		wanted.Endpoints = append(wanted.Endpoints, id)
	}
	for n, c := range []struct {
		change func(*task.Task)
		want   map[string]task.Occasion
	}{
		{nil, map[string]task.Occasion{"all": task.OnSucceeded, "both": task.OnSucceeded}},
		{failing, map[string]task.Occasion{"all": task.OnFailed, "failures": task.OnFailed, "dead letters": task.OnDeadLettered, "both": task.OnDeadLettered}},
		{func(t *task.Task) { t.Outcome, t.DeadLetter = task.Partial, true }, map[string]task.Occasion{"all": task.OnSucceeded, "dead letters": task.OnDeadLettered, "both": task.OnSucceeded}},
		{func(t *task.Task) { t.Status = task.Cancelled }, map[string]task.Occasion{"all": task.OnCancelled}},
	} {
		id := p.end(n, c.change)
		ready := p.prepare(id, wanted)
		require.Equal(t, ready, p.prepare(id, wanted), "made again they are the same")
		got := map[string]task.Occasion{}
		all, err := p.Deliveries.Of(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, all, len(ready))
		for _, d := range all {
			got[names[d.Webhook]] = d.Event
		}
		require.Equal(t, c.want, got)
	}
}

func TestNotices_waitForTheState(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	id := p.end(1, func(t *task.Task) { t.Status, t.Done, t.Revision = task.Processing, false, 4 })
	key := storage.NoticeKey(id, "test")
	require.NoError(t, p.Bucket.PutJSON(t.Context(), key, storage.Notice{Email: "ops@example.com"}))
	req := NoticeRequest{Task: id, Tenant: "acme", Notice: key}
	_, err := run(t, p.PrepareNotices, req)
	require.Positive(t, requireLater(t, err), "it has not ended for its readers")

	req.Input, req.Revision = "q1", 4
	ready, err := run(t, p.PrepareNotices, req)
	require.NoError(t, err)
	require.Empty(t, ready, "it was answered meanwhile")
	p.end(1, func(t *task.Task) {
		t.Status, t.Done, t.Revision, t.InputRequests = task.InputRequired, false, 4, map[string]task.InputRequest{"q1": {ID: "q1"}}
	})
	ready, err = run(t, p.PrepareNotices, req)
	require.NoError(t, err)
	require.Len(t, ready, 1)
	d, err := p.Deliveries.Get(t.Context(), ready[0].ID)
	require.NoError(t, err)
	require.Contains(t, d.Body, `"type":"task.input_required"`)
	require.Contains(t, d.Body, `"input_requests":["q1"]`)
	require.Contains(t, d.Body, `"url":"https://tasks.example.com/v1/tasks/`+id)
}

func TestDeliver_attemptsAndRounds(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	status := http.StatusTooManyRequests
	r := notifytest.New(func(notifytest.Call) notifytest.Reply {
		return notifytest.Reply{Status: status, Header: map[string]string{"Retry-After": "600"}}
	})
	t.Cleanup(r.Close)
	message := p.prepare(p.end(1, nil), storage.Notice{Webhook: &task.Webhook{URL: r.URL(), Secret: notify.NewSecret()}})[0].ID
	d, err := p.deliver(message, "a")
	require.GreaterOrEqual(t, requireLater(t, err), 10*time.Minute, "as long as the receiver asked for")
	require.WithinDuration(t, time.Now().Add(11*time.Minute), *d.NextAttemptAt, 2*time.Minute)

	d.Attempts = append(d.Attempts, task.Attempt{At: time.Now()}) // a worker died in the middle of the next
	require.NoError(t, p.Deliveries.Put(t.Context(), d))
	_, err = p.deliver(message, "a")
	requireLater(t, err)
	d, err = p.deliver(message, "a")
	require.NoError(t, err)
	require.Equal(t, task.DeliveryFailed, d.Status)
	require.Len(t, d.Attempts, 4, "three that failed and one that was lost")
	require.Contains(t, d.Attempts[1].Error, "worker was lost")

	_, err = p.deliver(message, "b")
	requireLater(t, err)
	status = http.StatusOK
	d, err = p.deliver(message, "b")
	require.NoError(t, err)
	require.Equal(t, task.DeliveryDelivered, d.Status)
	require.Nil(t, d.NextAttemptAt)
}

func TestDeliver_borrowedSecret(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	r := notifytest.New(nil)
	t.Cleanup(r.Close)
	lender, err := p.Endpoints.Add(t.Context(), "acme", storage.Endpoint{
		Endpoint: task.Endpoint{URL: "https://example.com/"},
		Secrets:  []storage.Secret{{Text: notify.NewSecret()}, {Text: notify.NewSecret(), Until: time.Now().Add(time.Hour)}, {Text: notify.NewSecret(), Until: time.Now().Add(-time.Hour)}},
	})
	require.NoError(t, err)
	wanted := storage.Notice{Webhook: &task.Webhook{URL: r.URL(), Secret: lender.ID}}
	_, err = p.deliver(p.prepare(p.end(1, nil), wanted)[0].ID, "a")
	require.NoError(t, err)
	require.Len(t, strings.Fields(r.Calls()[0].Header.Get("webhook-signature")), 2, "the new secret and the old one, whose time is not over")

	message := p.prepare(p.end(2, nil), wanted)[0].ID
	require.NoError(t, p.Endpoints.Delete(t.Context(), "acme", lender.ID))
	d, err := p.deliver(message, "a")
	require.NoError(t, err)
	require.Equal(t, task.DeliveryFailed, d.Status)
	require.Len(t, r.Calls(), 1, "unsigned it does not go out")
}

func TestDeliver_mail(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	message := p.prepare(p.end(1, failing), storage.Notice{Email: "ops@example.com"})[0].ID
	d, err := p.deliver(message, "a")
	require.NoError(t, err)
	require.Equal(t, task.DeliveryFailed, d.Status)
	require.Contains(t, d.Detail, "no mail server")

	box := p.mailbox(451)
	d, err = p.deliver(message, "b")
	requireLater(t, err)
	require.Equal(t, 451, d.Attempts[0].StatusCode)
	d, err = p.deliver(message, "b")
	require.NoError(t, err)
	require.Equal(t, task.DeliveryDelivered, d.Status)
	letter := box.Letters()[0]
	require.Contains(t, letter.Text, "Subject: [longhaul] summary task: failed")
	require.Contains(t, letter.Text, "<"+message+"@example.com>")
	require.Contains(t, letter.Text, "From: \"longhaul\" <longhaul@example.com>")
	for _, want := range []string{"the key is refused", "after 3 attempts", "Read it: https://tasks.example.com/tasks/task_"} {
		require.Contains(t, strings.ReplaceAll(letter.Text, "=\r\n", ""), want)
	}
}

// However many tasks fail, a registered mailbox gets one mail in a window of time, and hears of all of them.
func TestDeliver_alertsComeTogether(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.AlertEvery = 1000 * time.Hour // not two windows in one test, but for once in a lifetime
	box := p.mailbox()
	e, err := p.Endpoints.Add(t.Context(), "acme", storage.Endpoint{Endpoint: task.Endpoint{URL: "mailto:ops@example.com", Events: []task.Occasion{task.OnDeadLettered}}})
	require.NoError(t, err)
	var messages []string
	for n := range 5 {
		messages = append(messages, p.prepare(p.end(n, failing), storage.Notice{Endpoints: []string{e.ID}})[0].ID)
	}
	_, err = p.deliver(messages[0], "a")
	require.NoError(t, err)
	for _, message := range messages[1:] {
		d, err := p.deliver(message, "a")
		require.Positive(t, requireLater(t, err))
		require.Contains(t, d.Detail, "together with others")
		require.NotNil(t, d.NextAttemptAt)
	}
	require.Len(t, box.Letters(), 1)

	p.AlertEvery = time.Nanosecond // the next window
	d, err := p.deliver(messages[3], "a")
	require.NoError(t, err)
	require.Equal(t, task.DeliveryDelivered, d.Status)
	for _, message := range []string{messages[1], messages[2], messages[4]} {
		d, err := p.deliver(message, "a")
		require.NoError(t, err)
		require.Equal(t, task.DeliveryDelivered, d.Status)
		require.Contains(t, d.Detail, "in one mail with others")
	}
	letters := box.Letters()
	require.Len(t, letters, 2)
	require.Contains(t, letters[1].Text, "Subject: [longhaul] 4 tasks: dead lettered")
	require.Contains(t, letters[1].Text, "So did 3 more")
	for _, message := range messages[1:] {
		found, err := p.Deliveries.Get(t.Context(), message)
		require.NoError(t, err)
		require.Contains(t, letters[1].Text, found.Task)
	}
}

// A mail that went out is not sent again because its failures could not be taken off the list.
func TestDeliver_alertsNotForgotten(t *testing.T) {
	bucket := storagetest.Remote(t, func(store http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			store.ServeHTTP(w, r)
		})
	})
	p := newPostWith(t, bucket)
	box := p.mailbox()
	e, err := p.Endpoints.Add(t.Context(), "acme", storage.Endpoint{Endpoint: task.Endpoint{URL: "mailto:ops@example.com", Events: []task.Occasion{task.OnDeadLettered}}})
	require.NoError(t, err)
	message := p.prepare(p.end(1, failing), storage.Notice{Endpoints: []string{e.ID}})[0].ID
	d, err := p.deliver(message, "a")
	require.NoError(t, err)
	require.Equal(t, task.DeliveryDelivered, d.Status)
	require.Empty(t, d.Attempts[0].Error)
	require.Len(t, box.Letters(), 1)
}
