package notify

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"longhaul/internal/notify/notifytest"
)

func post(t *testing.T, reply notifytest.Reply, secrets ...string) (Answer, []notifytest.Call) {
	t.Helper()
	r := notifytest.New(func(notifytest.Call) notifytest.Reply { return reply })
	t.Cleanup(r.Close)
	s := NewSender([]string{"127.0.0.1"}, time.Second)
	return s.Post(t.Context(), r.URL(), Message{ID: "msg_1", Body: []byte(`{"type":"ping"}`)}, secrets), r.Calls()
}

func TestPost_isSignedByEverySecret(t *testing.T) {
	t.Parallel()
	older, newer := NewSecret(), NewSecret()
	answer, calls := post(t, notifytest.Reply{}, newer, older)
	require.Equal(t, Answer{Status: http.StatusOK}, answer)
	for _, secret := range []string{older, newer} {
		require.NoError(t, CheckSecret(secret))
		verifier, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		require.NoError(t, verifier.Verify(calls[0].Body, calls[0].Header))
		require.Error(t, verifier.Verify(append(calls[0].Body, ' '), calls[0].Header))
	}
	stranger, err := standardwebhooks.NewWebhook(NewSecret())
	require.NoError(t, err)
	require.Error(t, stranger.Verify(calls[0].Body, calls[0].Header))

	_, calls = post(t, notifytest.Reply{})
	require.Empty(t, calls[0].Header.Values("webhook-signature"))
	require.Equal(t, "msg_1", calls[0].ID())
}

func TestPost_answers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply notifytest.Reply
		want  Answer
		why   string
	}{
		"no content":  {notifytest.Reply{Status: 204}, Answer{Status: 204}, ""},
		"error":       {notifytest.Reply{Status: 500}, Answer{Status: 500}, "it answered 500 Internal Server Error"},
		"refused":     {notifytest.Reply{Status: 404}, Answer{Status: 404}, "it answered 404 Not Found"},
		"gone":        {notifytest.Reply{Status: 410}, Answer{Status: 410, Final: true, Gone: true}, "wants no more messages"},
		"redirect":    {notifytest.Reply{Status: 307, Header: map[string]string{"Location": "/x"}}, Answer{Status: 307}, "redirects are not followed"},
		"retry after": {notifytest.Reply{Status: 503, Header: map[string]string{"Retry-After": "120"}}, Answer{Status: 503, RetryAfter: 2 * time.Minute}, "503"},
		"too long":    {notifytest.Reply{Status: 429, Header: map[string]string{"Retry-After": "9999999"}}, Answer{Status: 429, RetryAfter: 24 * time.Hour}, "429"},
		"nonsense":    {notifytest.Reply{Status: 429, Header: map[string]string{"Retry-After": "soon"}}, Answer{Status: 429}, "429"},
		"hangs":       {notifytest.Reply{Hang: true}, Answer{Slow: true}, "did not answer within 1s"},
		"endless":     {notifytest.Reply{Endless: true}, Answer{Status: 200}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, calls := post(t, c.reply)
			require.Len(t, calls, 1)
			if c.why == "" {
				require.NoError(t, got.Err)
			} else {
				require.ErrorContains(t, got.Err, c.why)
			}
			got.Err = nil
			require.Equal(t, c.want, got)
		})
	}
}

func TestPost_goesNowhereInside(t *testing.T) {
	t.Parallel()
	r := notifytest.New(nil)
	t.Cleanup(r.Close)
	for _, address := range []string{
		r.URL(), strings.Replace(r.URL(), "127.0.0.1", "localhost", 1), "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://[::ffff:10.0.0.1]/",
		"http://2130706433/", "http://0.0.0.0/", "https://93.184.216.34:8443/",
	} {
		answer := NewSender(nil, 2*time.Second).Post(t.Context(), address, Message{ID: "m", Body: []byte("{}")}, nil)
		require.Error(t, answer.Err, address)
		require.Zero(t, answer.Status, address)
		require.NotContains(t, answer.Err.Error(), "169.254", "what is inside is not told")
	}
	require.Empty(t, r.Calls())
}

func TestPost_unreachable(t *testing.T) {
	t.Parallel()
	s := NewSender([]string{"127.0.0.1"}, 2*time.Second)
	// Port 1: another test cannot be given it, as it could be given the port of a server that was closed.
	answer := s.Post(t.Context(), "http://127.0.0.1:1/?token=hidden", Message{}, nil)
	require.EqualError(t, answer.Err, "it refused the connection")
	require.False(t, answer.Final)
	answer = s.Post(t.Context(), "https"+strings.TrimPrefix(notifytestURL(t), "http"), Message{}, nil)
	require.Error(t, answer.Err)
}

func notifytestURL(t *testing.T) string {
	r := notifytest.New(nil)
	t.Cleanup(r.Close)
	return r.URL()
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"https://example.com/hook?x=1": true, "http://example.com": true, "https://user:pw@example.com/": false, "ftp://example.com/": false,
		"https:///x": false, "example.com": false, "": false, "https://example.com/#a": false, "https://" + strings.Repeat("a", 2048): false, "mailto:a@b.c": false,
	} {
		require.Equal(t, ok, CheckURL(address) == nil, address)
	}
}

func TestCheckMailbox(t *testing.T) {
	t.Parallel()
	for mailbox, ok := range map[string]bool{
		"ops@example.com": true, "Ops <ops@example.com>": false, "a@b.c, d@e.f": false, "ops": false, "": false, "a@b.c\r\nBcc: x@y.z": false,
	} {
		require.Equal(t, ok, CheckMailbox(mailbox) == nil, mailbox)
	}
}

func TestCheckSecret(t *testing.T) {
	t.Parallel()
	for secret, ok := range map[string]bool{
		NewSecret(): true, "whsec_" + strings.Repeat("A", 32): true, "whsec_AAAA": false, "whsec_!": false, strings.Repeat("A", 32): false, "": false,
	} {
		require.Equal(t, ok, CheckSecret(secret) == nil, secret)
	}
}

func TestMasked(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.com/a%2Fb?token=hidden": "https://example.com/a%2Fb?...", "https://user:pw@example.com/": "https://example.com/",
		"mailto:ops@example.com": "mailto:ops@example.com", "https://example.com": "https://example.com",
	} {
		require.Equal(t, want, Masked(address))
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	s := Schedule{time.Second, time.Minute}
	for failures, least := range map[int]time.Duration{1: time.Second, 2: time.Minute} {
		wait, ok := s.After(failures, 0)
		require.True(t, ok)
		require.GreaterOrEqual(t, wait, least)
		require.LessOrEqual(t, wait, least+least/5)
	}
	wait, ok := s.After(1, time.Hour)
	require.True(t, ok)
	require.GreaterOrEqual(t, wait, time.Hour, "what the receiver asks for counts")
	_, ok = s.After(3, time.Hour)
	require.False(t, ok, "but adds no attempt")
}

func TestGate(t *testing.T) {
	t.Parallel()
	var g Gate
	var leaves []func(bool)
	for range atOnce {
		leave, ok, _ := g.Enter("slow")
		require.True(t, ok)
		leaves = append(leaves, leave)
	}
	_, ok, dead := g.Enter("slow")
	require.False(t, ok)
	require.False(t, dead)
	_, ok, _ = g.Enter("other")
	require.True(t, ok, "one receiver does not stand in another's way")
	for _, leave := range leaves {
		leave(true)
	}
	leave, ok, _ := g.Enter("slow")
	require.True(t, ok)
	_, ok, dead = g.Enter("slow")
	require.False(t, ok, "one that does not answer is tried by one at a time")
	require.True(t, dead)
	leave(false)
	for range atOnce {
		_, ok, _ = g.Enter("slow")
		require.True(t, ok, "until it answers again")
	}
}

func TestMailer(t *testing.T) {
	t.Parallel()
	box, err := notifytest.NewMailbox(notifytest.Refuse(451, 550))
	require.NoError(t, err)
	t.Cleanup(box.Close)
	m, err := NewMailer(MailServer{Host: "127.0.0.1", Port: box.Port(), From: "longhaul@example.com", TLS: "none", Timeout: 5 * time.Second, AMinute: 10})
	require.NoError(t, err)
	send := func() Answer {
		return m.Send(t.Context(), "msg_1", Mail{To: "ops@example.com", Subject: "done\r\nBcc: x@example.com", Text: "All is well — 好.\n"})
	}
	require.Equal(t, []any{451, false}, statusAndFinal(send()), "busy: again")
	require.Equal(t, []any{550, true}, statusAndFinal(send()), "no such mailbox: never again")
	require.NoError(t, send().Err)
	require.NoError(t, send().Err)
	letters := box.Letters()
	require.Len(t, letters, 2)
	for _, l := range letters {
		require.Equal(t, "ops@example.com", l.To)
		require.Contains(t, l.Text, "Message-ID: <msg_1@example.com>", "the same message is known by its number")
		require.NotContains(t, l.Text, "\nBcc:")
	}
	require.False(t, m.Busy())
	require.True(t, m.Busy(), "a burst of a tenth of a minute's mails")

	box.Close()
	require.ErrorContains(t, send().Err, "could not be reached")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, m.Send(ended, "msg_1", Mail{To: "ops@example.com"}).Err)
	require.True(t, m.Send(t.Context(), "msg_1", Mail{To: "nobody"}).Final)
}

func statusAndFinal(a Answer) []any { return []any{a.Status, a.Final} }
