package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/notify/notifytest"
	"longhaul/internal/task"
)

// Receivers that hang, answer without end, or answer 10 MB neither delay other receivers nor use memory.
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
	require.NoError(t, hang.WaitFor(s.soon(), 4), "four concurrent messages for one receiver")

	for range 3 {
		id := begin("key-b", healthy.URL())
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(healthy.Calls(), func(c notifytest.Call) bool { return parseMessage(t, c).Data.ID == id })
		}, 30*time.Second, 20*time.Millisecond, "the healthy receiver gets its message in time")
		_, text := s.request(http.MethodGet, "/v1/tasks/"+id, "", "Authorization", "Bearer key-b")
		var done task.Task
		require.NoError(t, json.Unmarshal([]byte(text), &done))
		call := healthy.Calls()[len(healthy.Calls())-1]
		t.Logf("notified %.2f s after the end, with %d messages stuck", call.At.Sub(*done.FinishedAt).Seconds(), *stuckMessages)
	}
	require.NoError(t, endless.WaitFor(s.soon(), 1))
	require.NoError(t, large.WaitFor(s.soon(), 1))
	require.Less(t, endless.Sent()+large.Sent(), int64(16<<20), "little more is read than the socket buffers hold")
	require.Len(t, endless.Calls(), 1, "its status was a success")
	require.Len(t, large.Calls(), 1)
}

// No message is sent to an endpoint that was removed or answered 410, and other endpoints do not wait for it.
func TestWebhooks_goneEndpoints(t *testing.T) {
	failing := newReceiver(t, func(notifytest.Call) notifytest.Reply {
		return notifytest.Reply{Status: http.StatusInternalServerError}
	})
	gone := newReceiver(t, func(notifytest.Call) notifytest.Reply { return notifytest.Reply{Status: http.StatusGone} })
	healthy := newReceiver(t, nil)
	s := newStack(t, notifySettings("2s"+strings.Repeat(",2s", 60))...) // more attempts than the test lasts
	doomed := s.register(`{"url":"` + failing.URL() + `"}`)
	const n = 12
	var ids []string
	for range n {
		ids = append(ids, s.submit(notes(1)))
	}
	require.NoError(t, failing.WaitFor(s.soon(), n))
	status, answer := s.request(http.MethodDelete, "/v1/webhooks/"+doomed.ID, "")
	require.Equal(t, http.StatusNoContent, status, answer)
	time.Sleep(500 * time.Millisecond) // requests in flight arrive
	before := len(failing.Calls())

	off := s.register(`{"url":"` + gone.URL() + `"}`)
	well := s.register(`{"url":"` + healthy.URL() + `"}`)
	last := s.submit(notes(1))
	require.NoError(t, healthy.WaitFor(s.soon(), 1), "the next message is sent")
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
	time.Sleep(3 * time.Second) // longer than the pause between attempts
	require.Equal(t, before, len(failing.Calls()), "no call after the removal")
	require.Len(t, gone.Calls(), 1, "no call after 410")

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

// Redirects are not followed, Retry-After is respected, and private addresses are not called.
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

// When a receiver is down for all attempts, the message shows each failure, and a redelivery sends the same body later.
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
	require.Equal(t, 2, s.provider.Counts().Total, "a redelivery makes no model call")
}

// A redelivery does not wait for the next attempt.
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
	for range 3 { // as by a user who clicks repeatedly
		s.redeliver(s.deliveries(id)[0].ID, http.StatusAccepted)
	}
	d := s.waitDelivery(id, task.DeliveryDelivered)
	calls := r.Calls()
	require.Equal(t, []string{d.ID, d.ID}, []string{calls[0].ID(), calls[1].ID()})
	status, _ := s.post("/v1/deliveries/msg_aaaaaaaaaaaaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaa/redeliver", "")
	require.Equal(t, http.StatusNotFound, status)
}
