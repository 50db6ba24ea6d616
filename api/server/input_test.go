package server_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// asking is an API with a task that asks whether a tool may be called.
func asking(t *testing.T) (a *api, path string) {
	t.Helper()
	a = newAPI(t, nil)
	id := into[task.Task](t, a.post("/v1/tasks", `{"kind":"summary","input":{"documents":[{"text":"a"}]}}`)).ID
	a.tasks.Change(id, func(t *task.Task) {
		t.Status = task.InputRequired
		t.InputRequests = map[string]task.InputRequest{"call-1-1": {ID: "call-1-1", Kind: "approval", Tool: "book", Arguments: json.RawMessage(`{"room":7}`), ExpiresAt: time.Now().Add(time.Hour)}}
	})
	return a, "/v1/tasks/" + id
}

func TestInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, heard string }{
		"approve":          {`{"request":"call-1-1","action":"approve"}`, "approve "},
		"approve, changed": {`{"request":"call-1-1","action":"approve","arguments":{"room":9007199254740993}}`, `approve {"room":9007199254740993}`},
		"deny":             {`{"request":"call-1-1","action":"deny","reason":"too dear"}`, "deny too dear"},
		"message":          {`{"action":"message","text":"hurry"}`, "message hurry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, path := asking(t)
			shown := into[task.Task](t, a.do("GET", path, nil, ""))
			require.JSONEq(t, `{"room":7}`, string(shown.InputRequests["call-1-1"].Arguments), "the very call is shown")
			r := a.post(path+"/input", test.body)
			require.Equal(t, http.StatusAccepted, r.status, string(r.body))
			require.Equal(t, test.heard, into[task.Task](t, r).Progress.Message)
			if name != "message" {
				late := a.post(path+"/input", test.body)
				require.Equal(t, http.StatusConflict, late.status)
			}
		})
	}
}

func TestInput_refusals(t *testing.T) {
	t.Parallel()
	a, path := asking(t)
	for body, want := range map[string]string{
		`{"request":"call-1-1"}`:                                           "action",
		`{"request":"call-1-1","action":"shrug"}`:                          "action",
		`{"action":"approve"}`:                                             "/request",
		`{"request":"x","action":"message","text":"a"}`:                    "/request",
		`{"request":"call-1-1","action":"answer"}`:                         "/text",
		`{"request":"call-1-1","action":"approve","text":"yes"}`:           "/text",
		`{"request":"call-1-1","action":"approve","reason":"because"}`:     "/reason",
		`{"request":"call-1-1","action":"deny","arguments":{}}`:            "/arguments",
		`{"request":"call-1-1","action":"approve","arguments":[1]}`:        "/arguments",
		`{"request":"call-1-1","action":"approve","argumants":{"room":1}}`: "argumants",
	} {
		r := a.post(path+"/input", body)
		require.Equal(t, http.StatusUnprocessableEntity, r.status, body+string(r.body))
		require.Contains(t, string(r.body), want, body)
	}
	require.Equal(t, http.StatusConflict, a.post(path+"/input", `{"request":"call-9-9","action":"approve"}`).status)
	require.Equal(t, http.StatusNotFound, a.post("/v1/tasks/task_bbbbbbbbbbbbbbbbbbbbbbbbbb/input", `{"action":"message","text":"a"}`).status)
}
