package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// A replay whose answer was lost is asked for again under its key, and starts one task. Without one it has a key of its own,
// for what net/http repeats.
func TestReplay_answerLost(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"one":  {"replay", "task-1"},
		"many": {"dead", "replay", "--kind", "summary"},
	} {
		d := newDesk(t, nil)
		d.lose()
		_, _, err := d.tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
		require.NoError(t, err)
		d.tasks.Succeed("task-1", "{}", task.Full)
		keyed := append(args, "--idempotency-key", "again")
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

// lose puts a front before the API that does the first POST and loses its answer.
func (d *desk) lose() {
	api := d.srv.Config.Handler
	lost := false
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !lost {
			lost = true
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	}))
	d.t.Cleanup(front.Close)
	d.srv = front
}
