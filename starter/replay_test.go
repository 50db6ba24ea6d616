package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// A replay whose answer is lost may be repeated with its key, and starts one task. Without a key it gets a random one, because
// net/http may repeat the request.
func TestReplay_answerLost(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"one":  {"replay", "task-1"},
		"many": {"dead", "replay", "--kind", "summary"},
	} {
		d := newDesk(t, nil)
		d.loseFirstAnswer()
		_, _, err := d.tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
		require.NoError(t, err)
		d.tasks.Succeed("task-1", "{}", task.Full)
		keyed := append(args, "--idempotency-key", "replay-1")
		code, _, errOut := d.run(keyed...)
		require.Equal(t, exitUnreachable, code, name+errOut)
		code, out, errOut := d.run(keyed...)
		require.Zero(t, code, name+errOut)
		require.Contains(t, out, "task-2")
		require.Len(t, d.tasks.Drafts(), 2, name)
		code, _, errOut = d.run(args...)
		require.Zero(t, code, name+errOut)
		require.NotEmpty(t, d.tasks.Drafts()[2].IdempotencyKey)
	}
}

// loseFirstAnswer puts a proxy in proxy of the API that forwards the first POST and drops its answer.
func (d *desk) loseFirstAnswer() {
	api := d.srv.Config.Handler
	lost := false
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !lost {
			lost = true
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	}))
	d.t.Cleanup(proxy.Close)
	d.srv = proxy
}
