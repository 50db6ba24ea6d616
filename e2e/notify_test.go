package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/notify"
	"longhaul/internal/notify/notifytest"
	"longhaul/internal/task"
)

var (
	stuckMessages = flag.Int("stuck", 30, "how many messages wait for a receiver that hangs")
	notifiedTasks = flag.Int("told", 60, "how many tasks are looked at by those who are told")
)

// quick are settings under which a day of retries is over within seconds.
func notifySettings(retries string, more ...string) []string {
	return append([]string{"LONGHAUL_NOTIFY_ALLOW_PRIVATE=127.0.0.1", "LONGHAUL_NOTIFY_RETRIES=" + retries}, more...)
}

// receiver starts a receiver that ends with the test.
func newReceiver(t testing.TB, reply func(notifytest.Call) notifytest.Reply) *notifytest.Receiver {
	r := notifytest.New(reply)
	t.Cleanup(r.Close)
	return r
}

// register registers a webhook.
func (s *stack) register(body string) task.Endpoint {
	s.t.Helper()
	status, answer := s.post("/v1/webhooks", body)
	require.Equal(s.t, http.StatusCreated, status, answer)
	var e task.Endpoint
	require.NoError(s.t, json.Unmarshal([]byte(answer), &e))
	return e
}

// deliveries lists the messages of a task.
func (s *stack) deliveries(id string) []task.Delivery {
	s.t.Helper()
	status, answer := s.get("/v1/tasks/" + id + "/deliveries")
	require.Equal(s.t, http.StatusOK, status, answer)
	var page task.Page[task.Delivery]
	require.NoError(s.t, json.Unmarshal([]byte(answer), &page))
	return page.Data
}

// settled waits until the one message of a task has a status, and gives it.
func (s *stack) waitDelivery(id string, want task.DeliveryStatus) task.Delivery {
	s.t.Helper()
	var last []task.Delivery
	require.Eventually(s.t, func() bool {
		last = s.deliveries(id)
		return len(last) == 1 && last[0].Status == want
	}, time.Minute, 50*time.Millisecond, "the message does not become %s", want)
	return last[0]
}

func verifySignature(t *testing.T, secret string, call notifytest.Call) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(call.Body, call.Header))
}

// body is the message of a call.
func parseMessage(t *testing.T, call notifytest.Call) (m struct {
	Type      task.Occasion
	Timestamp time.Time
	Data      struct {
		ID, Kind, URL string
		Status        task.State
		Outcome       task.Outcome
		Revision      int64
		Labels        map[string]string
		Error         *struct {
			Code     task.Code
			Detail   string
			Attempts int
		}
	}
},
) {
	t.Helper()
	require.NoError(t, json.Unmarshal(call.Body, &m))
	return m
}

// A task's own webhook hears of its end once; the registered ones hear of it too, signed each with its own secret; the
// secrets are in no history, no log and no answer.
func TestWebhooks_signedAndSentOnce(t *testing.T) {
	secret := notify.NewSecret()
	own, registered := newReceiver(t, nil), newReceiver(t, nil)
	s := newStack(t, notifySettings("1s")...)
	e := s.register(`{"url":"` + registered.URL() + `/all?token=hidden"}`)
	deaf := s.register(`{"url":"` + registered.URL() + `/deaf","events":["task.failed"]}`)
	require.True(t, strings.HasPrefix(e.Secret, "whsec_"))
	id := s.begin("summary", notes(1), map[string]any{
		"labels": map[string]string{"project": "atlas"}, "webhook": map[string]any{"url": own.URL() + "/own", "secret": secret},
	})
	done := s.finish(id)
	require.NoError(t, own.WaitFor(s.soon(), 1))
	require.NoError(t, registered.WaitFor(s.soon(), 1))
	verifySignature(t, secret, own.Calls()[0])
	verifySignature(t, e.Secret, registered.Calls()[0])
	m := parseMessage(t, own.Calls()[0])
	require.Equal(t, task.OnSucceeded, m.Type)
	require.Equal(t, []any{id, "summary", task.Succeeded, task.Full, done.Revision}, []any{m.Data.ID, m.Data.Kind, m.Data.Status, m.Data.Outcome, m.Data.Revision})
	require.Equal(t, "atlas", m.Data.Labels["project"])
	require.WithinDuration(t, *done.FinishedAt, m.Timestamp, time.Millisecond)

	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(s.deliveries(id), func(d task.Delivery) bool { return d.Status != task.DeliveryDelivered })
	}, time.Minute, 50*time.Millisecond)
	all := s.deliveries(id)
	require.Len(t, all, 2, "one wanted failures only: %s", deaf.ID)
	_, text := s.get("/v1/tasks/" + id + "/deliveries")
	_, list := s.get("/v1/webhooks")
	_, timeline := s.get("/v1/tasks/" + id + "/timeline")
	for _, hidden := range []string{secret, e.Secret, "hidden"} {
		require.NotContains(t, text+list+timeline, hidden)
		s.requireNowhere(hidden, id, id+".ended", all[0].ID, all[1].ID)
	}
	require.Len(t, own.Calls(), 1, "one end, one message")
	require.Len(t, registered.Calls(), 1)
}

// requireNowhere checks that a secret is in no history of these workflows, in no log and in no memo.
func (s *stack) requireNowhere(secret string, ids ...string) {
	s.t.Helper()
	c := s.cluster()
	defer c.Close()
	for _, id := range ids {
		events := c.Client.GetWorkflowHistory(s.t.Context(), id, "", false, 1)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(s.t, err)
			require.NotContains(s.t, event.String(), secret)
		}
		described, err := s.describe(id)
		require.NoError(s.t, err)
		require.NotContains(s.t, described.RawResponse.String(), secret)
	}
	logs, err := filepath.Glob(filepath.Join(s.dir, "*.log"))
	require.NoError(s.t, err)
	for _, log := range logs {
		text, err := os.ReadFile(log)
		require.NoError(s.t, err)
		require.NotContains(s.t, string(text), secret)
	}
}

// WH-01: a receiver that hangs, one with an answer without end and one of 10 MB keep nobody waiting and no memory.
func TestWebhooks_deadReceiverDelaysNoOther(t *testing.T) {
	hang := newReceiver(t, func(notifytest.Call) notifytest.Reply { return notifytest.Reply{Hang: true} })
	endless := newReceiver(t, func(notifytest.Call) notifytest.Reply { return notifytest.Reply{Endless: true} })
	large := newReceiver(t, func(notifytest.Call) notifytest.Reply { return notifytest.Reply{Body: 10 << 20} })
	healthy := newReceiver(t, nil)
	s := newStack(t, notifySettings("1s,1s", "LONGHAUL_NOTIFY_CONCURRENCY=8", "LONGHAUL_API_KEYS=a:key-a,b:key-b")...)
	begin := func(key, url string) string {
		body := fmt.Sprintf(`{"kind":"summary","input":{"documents":[{"text":"Report [doc-000]."}]},"webhook":{"url":%q}}`, url)
		status, answer := s.post("/v1/tasks", body, "Authorization", "Bearer "+key)
		require.Equal(t, http.StatusAccepted, status, answer)
		var created task.Task
		require.NoError(t, json.Unmarshal([]byte(answer), &created))
		return created.ID
	}
	for range *stuckMessages {
		begin("key-a", hang.URL())
	}
	begin("key-a", endless.URL())
	begin("key-a", large.URL())
	require.NoError(t, hang.WaitFor(s.soon(), 4), "as many as one receiver is sent at a time")

	for range 3 {
		id := begin("key-b", healthy.URL())
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(healthy.Calls(), func(c notifytest.Call) bool { return parseMessage(t, c).Data.ID == id })
		}, 30*time.Second, 20*time.Millisecond, "the healthy receiver waits for the dead one")
		_, text := s.request(http.MethodGet, "/v1/tasks/"+id, "", "Authorization", "Bearer key-b")
		var done task.Task
		require.NoError(t, json.Unmarshal([]byte(text), &done))
		call := healthy.Calls()[len(healthy.Calls())-1]
		t.Logf("told %.2f s after its end, with %d messages stuck", call.At.Sub(*done.FinishedAt).Seconds(), *stuckMessages)
	}
	require.NoError(t, endless.WaitFor(s.soon(), 1))
	require.NoError(t, large.WaitFor(s.soon(), 1))
	require.Less(t, endless.Sent()+large.Sent(), int64(16<<20), "hardly more is taken than the sockets hold")
	require.Len(t, endless.Calls(), 1, "its status was a success")
	require.Len(t, large.Calls(), 1)
}

// WH-02: each attempt has a time and a signature of its own, and all have one id and the same bytes; so has one that is
// sent again by hand.
func TestWebhooks_signEachAttempt(t *testing.T) {
	secret := notify.NewSecret()
	r := newReceiver(t, func(c notifytest.Call) notifytest.Reply {
		if c.Number <= 5 {
			return notifytest.Reply{Status: http.StatusBadGateway}
		}
		return notifytest.Reply{}
	})
	s := newStack(t, notifySettings("1s,1s,1s,1s,1s,1s")...)
	id := s.begin("summary", notes(1), map[string]any{"webhook": map[string]any{"url": r.URL(), "secret": secret}})
	s.finish(id)
	d := s.waitDelivery(id, task.DeliveryDelivered)
	require.Len(t, d.Attempts, 6)
	require.Equal(t, []any{502, "it answered 502 Bad Gateway"}, []any{d.Attempts[0].StatusCode, d.Attempts[0].Error})
	require.Equal(t, []any{200, ""}, []any{d.Attempts[5].StatusCode, d.Attempts[5].Error})

	again := s.redeliver(d.ID, http.StatusAccepted)
	require.Equal(t, d.ID, again.ID)
	require.NoError(t, r.WaitFor(s.soon(), 7))
	stamps := map[string]bool{}
	for _, call := range r.Calls() {
		require.Equal(t, d.ID, call.ID())
		require.Equal(t, string(r.Calls()[0].Body), string(call.Body))
		verifySignature(t, secret, call)
		stamps[call.Header.Get("webhook-timestamp")+call.Header.Get("webhook-signature")] = true
	}
	require.GreaterOrEqual(t, len(stamps), 6, "an attempt carries the time of an earlier one")
	status, answer := s.get("/v1/tasks")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, strings.Count(answer, `"object":"task"`), "sending again starts no task")
	verifyInNode(t, secret, r.Calls())
}

func (s *stack) redeliver(id string, want int) task.Delivery {
	s.t.Helper()
	status, answer := s.post("/v1/deliveries/"+id+"/redeliver", "")
	require.Equal(s.t, want, status, answer)
	var d task.Delivery
	require.NoError(s.t, json.Unmarshal([]byte(answer), &d))
	return d
}

// WH-04: whoever is told of a task's end and looks sees that end and the result.
func TestWebhooks_sentAfterTheState(t *testing.T) {
	s := newStack(t, notifySettings("1s")...)
	var stale, looked atomic.Int64
	r := newReceiver(t, func(c notifytest.Call) notifytest.Reply {
		m := parseMessage(t, c)
		for _, path := range []string{"", "/result"} {
			resp, err := http.Get("http://" + s.address + "/v1/tasks/" + m.Data.ID + path) //nolint:noctx // it belongs to no request of a test
			if err != nil {
				stale.Add(1)
				continue
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			var seen task.Task
			if resp.StatusCode != http.StatusOK || path == "" && (json.Unmarshal(text, &seen) != nil || !seen.Done || seen.Revision != m.Data.Revision) {
				stale.Add(1)
			}
			looked.Add(1)
		}
		return notifytest.Reply{}
	})
	s.register(`{"url":"` + r.URL() + `"}`)
	n := *notifiedTasks
	ids := map[string]bool{}
	for range n {
		ids[s.submit(notes(1))] = true
	}
	patience, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	require.NoError(t, r.WaitFor(patience, n))
	require.Eventually(t, func() bool { return looked.Load() == int64(2*n) }, time.Minute, 50*time.Millisecond)
	require.Zero(t, stale.Load(), "a receiver saw an older state than it was told of")
	for _, call := range r.Calls() {
		id := parseMessage(t, call).Data.ID
		require.True(t, ids[id], "an id that POST did not give, or a second message of a task: %s", id)
		delete(ids, id)
	}
	require.Empty(t, ids)
}

// WH-06: nothing goes to an endpoint that was removed, or that said 410, and nobody waits behind it.
func TestWebhooks_goneEndpoints(t *testing.T) {
	failing := newReceiver(t, func(notifytest.Call) notifytest.Reply {
		return notifytest.Reply{Status: http.StatusInternalServerError}
	})
	gone := newReceiver(t, func(notifytest.Call) notifytest.Reply { return notifytest.Reply{Status: http.StatusGone} })
	healthy := newReceiver(t, nil)
	s := newStack(t, notifySettings("2s"+strings.Repeat(",2s", 60))...) // none is given up before all have been sent
	doomed := s.register(`{"url":"` + failing.URL() + `"}`)
	const n = 12
	var ids []string
	for range n {
		ids = append(ids, s.submit(notes(1)))
	}
	require.NoError(t, failing.WaitFor(s.soon(), n))
	status, answer := s.request(http.MethodDelete, "/v1/webhooks/"+doomed.ID, "")
	require.Equal(t, http.StatusNoContent, status, answer)
	time.Sleep(500 * time.Millisecond) // what was on its way has arrived
	before := len(failing.Calls())

	off := s.register(`{"url":"` + gone.URL() + `"}`)
	well := s.register(`{"url":"` + healthy.URL() + `"}`)
	last := s.submit(notes(1))
	require.NoError(t, healthy.WaitFor(s.soon(), 1), "the next message does not go out")
	require.Eventually(t, func() bool {
		_, text := s.get("/v1/webhooks")
		return strings.Contains(text, `"reason":"it answered 410`)
	}, time.Minute, 50*time.Millisecond, "410 does not disable")
	for _, id := range ids {
		d := s.waitDelivery(id, task.DeliveryCancelled)
		require.Equal(t, "endpoint removed", d.Detail)
		require.Nil(t, d.NextAttemptAt)
	}
	s.submit(notes(1))
	require.NoError(t, healthy.WaitFor(s.soon(), 2))
	time.Sleep(3 * time.Second) // a retry would have come
	require.Equal(t, before, len(failing.Calls()), "it is called after it was removed")
	require.Len(t, gone.Calls(), 1, "it is called after it said 410")

	for _, d := range s.deliveries(last) {
		switch d.Webhook {
		case off.ID:
			require.Equal(t, task.DeliveryDisabled, d.Status)
			_, answer := s.post("/v1/deliveries/"+d.ID+"/redeliver", "")
			require.Contains(t, answer, "disabled")
		case well.ID:
			require.Equal(t, task.DeliveryDelivered, d.Status)
		}
	}
}

// WH-08: a task fails, and its webhook is down until the last attempt is over: the list tells it all, and once the receiver
// is there again the message can be sent again, with what it said.
func TestWebhooks_redeliverAfterLastAttempt(t *testing.T) {
	var up atomic.Bool
	r := newReceiver(t, func(notifytest.Call) notifytest.Reply {
		if up.Load() {
			return notifytest.Reply{}
		}
		return notifytest.Reply{Status: http.StatusServiceUnavailable}
	})
	s := newStack(t, notifySettings("500ms,500ms,500ms", "LONGHAUL_LLM_MAX_ATTEMPTS=2")...)
	s.provider.On("Report", llmtest.Fail(http.StatusInternalServerError, "oops"), llmtest.Fail(http.StatusInternalServerError, "oops"))
	id := s.begin("summary", notes(1), map[string]any{"webhook": map[string]any{"url": r.URL()}})
	require.Equal(t, task.Failed, s.finish(id).Status)
	d := s.waitDelivery(id, task.DeliveryFailed)
	require.Len(t, d.Attempts, 4)
	require.Nil(t, d.NextAttemptAt)
	require.Equal(t, "it answered 503 Service Unavailable", d.Attempts[3].Error)

	up.Store(true)
	s.redeliver(d.ID, http.StatusAccepted)
	again := s.waitDelivery(id, task.DeliveryDelivered)
	require.Equal(t, d.ID, again.ID)
	require.Len(t, again.Attempts, 5)
	calls := r.Calls()
	m := parseMessage(t, calls[4])
	require.Equal(t, task.OnFailed, m.Type)
	require.Equal(t, 2, m.Data.Error.Attempts)
	require.NotEmpty(t, m.Data.Error.Detail)
	require.Equal(t, string(calls[0].Body), string(calls[4].Body))
	_, text := s.get("/v1/tasks")
	require.Equal(t, 1, strings.Count(text, `"object":"task"`))
	require.Equal(t, 2, s.provider.Counts().Total, "and pays for nothing")
}

// A worker that is killed while it delivers costs that attempt: another delivers the same message.
func TestWebhooks_killedWorkerRepeatsTheMessage(t *testing.T) {
	r := newReceiver(t, func(c notifytest.Call) notifytest.Reply { return notifytest.Reply{Hang: c.Number == 1} })
	s := newStack(t, notifySettings("1s")...)
	id := s.begin("summary", notes(1), map[string]any{"webhook": map[string]any{"url": r.URL()}})
	require.NoError(t, r.WaitFor(s.soon(), 1))
	s.worker.kill()
	s.worker = s.start("worker")
	require.NoError(t, r.WaitFor(s.soon(), 2))
	d := s.waitDelivery(id, task.DeliveryDelivered)
	calls := r.Calls()
	require.Equal(t, []string{d.ID, d.ID}, []string{calls[0].ID(), calls[1].ID()})
	require.Equal(t, string(calls[0].Body), string(calls[1].Body))
	require.Len(t, d.Attempts, 2)
	require.Contains(t, d.Attempts[0].Error, "the worker was lost")
}

// Redirects are not followed, Retry-After is waited for, and what is inside is not called.
func TestWebhooks_unusualReceivers(t *testing.T) {
	victim := newReceiver(t, nil)
	redirects := newReceiver(t, func(notifytest.Call) notifytest.Reply {
		return notifytest.Reply{Status: http.StatusFound, Header: map[string]string{"Location": victim.URL()}}
	})
	busy := newReceiver(t, func(c notifytest.Call) notifytest.Reply {
		if c.Number > 1 {
			return notifytest.Reply{}
		}
		return notifytest.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "3"}}
	})
	s := newStack(t, notifySettings("100ms")...)
	begin := func(url string) string {
		return s.begin("summary", notes(1), map[string]any{"webhook": map[string]any{"url": url}})
	}
	to, later, inside := begin(redirects.URL()), begin(busy.URL()), begin("http://localhost:1/")
	require.Contains(t, s.waitDelivery(to, task.DeliveryFailed).Attempts[0].Error, "redirects are not followed")
	require.Empty(t, victim.Calls())
	d := s.waitDelivery(inside, task.DeliveryFailed)
	require.Len(t, d.Attempts, 1, "no second attempt can help")
	require.Contains(t, d.Attempts[0].Error, "only public addresses")
	s.waitDelivery(later, task.DeliveryDelivered)
	calls := busy.Calls()
	require.Len(t, calls, 2)
	require.GreaterOrEqual(t, calls[1].At.Sub(calls[0].At), 3*time.Second)
}

// A secret that is replaced goes on signing beside its successor, and a test says whether messages arrive.
func TestWebhooks_rotateAndTest(t *testing.T) {
	var gone atomic.Bool
	r := newReceiver(t, func(notifytest.Call) notifytest.Reply {
		if gone.Load() {
			return notifytest.Reply{Status: http.StatusGone}
		}
		return notifytest.Reply{}
	})
	s := newStack(t, notifySettings("1s")...)
	e := s.register(`{"url":"` + r.URL() + `"}`)
	status, text := s.post("/v1/webhooks/"+e.ID+"/rotate", "")
	require.Equal(t, http.StatusOK, status, text)
	var rotated task.Endpoint
	require.NoError(t, json.Unmarshal([]byte(text), &rotated))
	require.NotEqual(t, e.Secret, rotated.Secret)
	test := func() (attempt task.Attempt) {
		status, text := s.post("/v1/webhooks/"+e.ID+"/test", "")
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &attempt))
		return attempt
	}
	require.Equal(t, http.StatusOK, test().StatusCode)
	verifySignature(t, e.Secret, r.Calls()[0])
	verifySignature(t, rotated.Secret, r.Calls()[0])
	require.Equal(t, task.OnPing, parseMessage(t, r.Calls()[0]).Type)

	gone.Store(true)
	id := s.submit(notes(1))
	s.waitDelivery(id, task.DeliveryDisabled)
	require.Contains(t, test().Error, "410")
	gone.Store(false)
	test()
	_, list := s.get("/v1/webhooks")
	require.Contains(t, list, `"disabled":null`, "a test that arrives lifts it")
	require.NotContains(t, list, "whsec_")
}

// A message that waits for its next attempt can be sent now.
func TestWebhooks_redeliverNow(t *testing.T) {
	var up atomic.Bool
	r := newReceiver(t, func(notifytest.Call) notifytest.Reply {
		if up.Load() {
			return notifytest.Reply{}
		}
		return notifytest.Reply{Status: http.StatusBadGateway}
	})
	s := newStack(t, notifySettings("3h,3h")...)
	id := s.begin("summary", notes(1), map[string]any{"webhook": map[string]any{"url": r.URL()}})
	require.NoError(t, r.WaitFor(s.soon(), 1))
	require.Eventually(t, func() bool {
		all := s.deliveries(id)
		return len(all) == 1 && all[0].NextAttemptAt != nil && time.Until(*all[0].NextAttemptAt) > 2*time.Hour
	}, time.Minute, 50*time.Millisecond)
	up.Store(true)
	for range 3 { // a person presses the button more than once
		s.redeliver(s.deliveries(id)[0].ID, http.StatusAccepted)
	}
	d := s.waitDelivery(id, task.DeliveryDelivered)
	calls := r.Calls()
	require.Equal(t, []string{d.ID, d.ID}, []string{calls[0].ID(), calls[1].ID()})
	status, _ := s.post("/v1/deliveries/msg_aaaaaaaaaaaaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaa/redeliver", "")
	require.Equal(t, http.StatusNotFound, status)
}

// Mails tell of a task that needs a person, and of its end.
func TestMails_inputRequiredAndEnd(t *testing.T) {
	box, err := notifytest.NewMailbox(notifytest.Refuse(450))
	require.NoError(t, err)
	t.Cleanup(box.Close)
	d := newToolServer(t)
	s := newStack(t, notifySettings("500ms,500ms", d.allowPrivate(), "LONGHAUL_SMTP_HOST=127.0.0.1", fmt.Sprintf("LONGHAUL_SMTP_PORT=%d", box.Port()),
		"LONGHAUL_SMTP_TLS=none", "LONGHAUL_SMTP_FROM=longhaul@example.com")...)
	s.scriptTurns(callTool("book", "room 7"), finalAnswer("Booked."))
	id := s.begin("agent", task.AgentInput{Goal: "book a room", Tools: []task.ToolSpec{d.tool("book", http.MethodPost, task.Always)}},
		map[string]any{"notify": map[string]any{"email": "ops@example.com"}})
	require.Eventually(t, func() bool { return len(box.Letters()) == 1 }, time.Minute, 50*time.Millisecond, "nobody is told that a person is needed")
	require.Contains(t, box.Letters()[0].Text, "input required")
	require.Contains(t, box.Letters()[0].Text, "It waits for a person")
	_, err = s.client.Input(s.soon(), id, task.Reply{Request: s.waitInput(id).ID, Action: task.Approve})
	require.NoError(t, err)
	require.Equal(t, task.Succeeded, s.finish(id).Status)
	require.Eventually(t, func() bool { return len(box.Letters()) == 2 }, time.Minute, 50*time.Millisecond)
	require.Contains(t, box.Letters()[1].Text, "Subject: [longhaul] agent task: succeeded")
	all := s.deliveries(id)
	require.Len(t, all, 2)
	require.Equal(t, "mailto:ops@example.com", all[0].URL)
	require.Len(t, all[0].Attempts, 2, "the first was asked to come back later")
}
