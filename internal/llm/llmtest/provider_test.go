package llmtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
)

// send makes a request with this prompt and reads what comes.
func send(ctx context.Context, p *llmtest.Provider, prompt string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/chat/completions",
		strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"`+prompt+`"}]}`))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Idempotency-Key", "k-"+prompt)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return res.StatusCode, string(got), err
}

func TestMarkersAndJournal(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	p.On("flaky", llmtest.RateLimit(3), llmtest.Fail(500, ""), llmtest.Reply{})
	for _, want := range []int{429, 500, 200, 200} {
		status, body, err := send(t.Context(), p, "flaky one")
		require.NoError(t, err)
		require.Equal(t, want, status)
		if want == 200 {
			require.Contains(t, body, llmtest.Hash("s\n\nflaky one"))
			require.True(t, strings.HasSuffix(body, "data: [DONE]\n\n"))
		}
	}
	p.Handle(func(call llmtest.Call) llmtest.Reply { return llmtest.Answer("to "+call.Prompt, llmtest.Usage{}) })
	_, body, err := send(t.Context(), p, "other")
	require.NoError(t, err)
	require.Contains(t, body, `other`)

	calls := p.Calls()
	require.Len(t, calls, 5)
	require.Len(t, p.CallsWith("flaky"), 4)
	require.Equal(t, 4, calls[3].Nth)
	require.Equal(t, 4, calls[3].Attempt)
	require.Equal(t, 429, calls[0].Status)
	require.Equal(t, "k-other", calls[4].IdempotencyKey)
	require.Equal(t, map[string]int{llmtest.Hash("s\n\nflaky one"): 4}, p.Repeats())
	require.Equal(t, llmtest.Counts{Total: 5, MaxInFlight: 1, Answered: 5}, p.Counts())
	p.Reset()
	require.Equal(t, llmtest.Counts{}, p.Counts())
}

func TestEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  llmtest.End
		fail string // in the error of reading; "" for a clean end
	}{
		"finish": {llmtest.Finish, ""},
		"close":  {llmtest.Close, ""},
		"cut":    {llmtest.Cut, "unexpected EOF"},
		"reset":  {llmtest.Reset, "reset"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", llmtest.Stream("a", "b").Then(test.end))
			_, body, err := send(t.Context(), p, "x")
			if test.fail == "" {
				require.NoError(t, err)
				require.Equal(t, "data: a\n\ndata: b\n\n", body)
			} else {
				require.ErrorContains(t, err, test.fail)
			}
			require.NoError(t, p.Wait(t.Context(), func(c llmtest.Counts) bool { return c.Answered == 1 && c.InFlight == 0 }))
		})
	}
}

// TestGone tells the calls whose client went away from those that were answered.
func TestGone(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	p.On("silent", llmtest.Stream("a").Then(llmtest.Silence))
	p.On("pinging", llmtest.Stream("a").Then(llmtest.Ping))
	p.On("late", llmtest.Reply{}.After(llmtest.Forever))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 3)
	for _, prompt := range []string{"silent", "pinging", "late"} {
		go func() {
			_, _, err := send(ctx, p, prompt)
			failed <- err
		}()
	}
	require.NoError(t, p.WaitFor(t.Context(), 3))
	require.Equal(t, 3, p.Counts().InFlight)
	cancel()
	require.NoError(t, p.WaitGone(t.Context(), 3))
	require.Equal(t, llmtest.Counts{Total: 3, MaxInFlight: 3, Gone: 3}, p.Counts())
	for range 3 {
		require.Error(t, <-failed)
	}
	for _, call := range p.Calls() {
		require.True(t, call.Gone)
		require.False(t, call.Ended.IsZero())
	}
	require.ErrorIs(t, p.WaitFor(ctx, 4), context.Canceled)
}

func TestLognormal(t *testing.T) {
	t.Parallel()
	one, two := llmtest.Lognormal(2*time.Second, 0.5, 7), llmtest.Lognormal(2*time.Second, 0.5, 7)
	below := 0
	for range 1000 {
		d := one()
		require.Equal(t, d, two())
		require.Positive(t, d)
		if d < 2*time.Second {
			below++
		}
	}
	require.InDelta(t, 500, below, 60)
}
