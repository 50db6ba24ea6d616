package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/notify"
	"longhaul/internal/notify/notifytest"
	"longhaul/internal/task"
)

// The task's own webhook and the registered endpoints each receive the end of a task once, signed with their own secrets.
// No history, log or answer contains a secret.
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
	require.Len(t, all, 2, "endpoint %s wants failures only", deaf.ID)
	_, text := s.get("/v1/tasks/" + id + "/deliveries")
	_, list := s.get("/v1/webhooks")
	_, timeline := s.get("/v1/tasks/" + id + "/timeline")
	for _, hidden := range []string{secret, e.Secret, "hidden"} {
		require.NotContains(t, text+list+timeline, hidden)
		s.requireNowhere(hidden, id, id+".ended", all[0].ID, all[1].ID)
	}
	require.Len(t, own.Calls(), 1, "one message for one end")
	require.Len(t, registered.Calls(), 1)
}

// requireNowhere checks that a secret is in no history or memo of these workflows and in no log.
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

// Every attempt has its own timestamp and signature, and all attempts have the same id and body; so does a redelivery.
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
	require.GreaterOrEqual(t, len(stamps), 6, "an attempt repeats the timestamp of another")
	status, answer := s.get("/v1/tasks")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, strings.Count(answer, `"object":"task"`), "a redelivery starts no task")
	verifyInNode(t, secret, r.Calls())
}

// A receiver that reads the task when it is notified of the end sees the end and the result.
func TestWebhooks_sentAfterTheState(t *testing.T) {
	s := newStack(t, notifySettings("1s")...)
	var stale, looked atomic.Int64
	r := newReceiver(t, func(c notifytest.Call) notifytest.Reply {
		m := parseMessage(t, c)
		for _, path := range []string{"", "/result"} {
			resp, err := http.Get("http://" + s.address + "/v1/tasks/" + m.Data.ID + path) //nolint:noctx // runs in the receiver
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
	require.Zero(t, stale.Load(), "a receiver read an older state than its message")
	for _, call := range r.Calls() {
		id := parseMessage(t, call).Data.ID
		require.True(t, ids[id], "unknown task id or second message: %s", id)
		delete(ids, id)
	}
	require.Empty(t, ids)
}

// A worker that is killed during a delivery costs the attempt; the next worker sends the same message.
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

// A replaced secret signs beside its successor, a test message reports whether it arrived, and a test that arrives
// re-enables the endpoint.
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
	require.Contains(t, list, `"disabled":null`, "a successful test enables the endpoint")
	require.NotContains(t, list, "whsec_")
}
