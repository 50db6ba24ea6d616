package client_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/client"
)

type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct{ Name, In string }
	}
	Components struct {
		Schemas map[string]struct {
			Properties map[string]json.RawMessage
		}
	}
}

// spec is the API's own description.
func spec(t *testing.T) (d document) {
	t.Helper()
	text, err := os.ReadFile("../api/server/openapi.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

func keys[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

// fieldNames are the JSON names of a struct's fields.
func fieldNames(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// withoutMethod are the operations that the client does not offer, and why.
var withoutMethod = map[string]string{
	"task-socket":    "Watch and Input do the same over HTTP",
	"video-callback": "providers of videos call it",
}

// Every operation of the API has a method, which makes the request that the API describes; one that starts a task sends an
// idempotency key.
func TestRoutes_everyOperation(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for route, operations := range spec(t).Paths {
		for method, operation := range operations {
			call, ok := calls[operation.OperationID]
			if _, left := withoutMethod[operation.OperationID]; left {
				require.False(t, ok, operation.OperationID)
				continue
			}
			require.True(t, ok, "the client has no method for %s %s (%s)", strings.ToUpper(method), route, operation.OperationID)
			r := requestOf(t, call)
			require.Equal(t, strings.ToUpper(method), r.Method, operation.OperationID)
			pattern := regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(route), "[^/]+")
			require.Regexp(t, "^"+pattern+"$", r.URL.EscapedPath(), operation.OperationID)
			for _, p := range operation.Parameters {
				require.False(t, p.Name == "Idempotency-Key" && r.Header.Get(p.Name) == "", operation.OperationID)
			}
			for name := range r.URL.Query() {
				require.Contains(t, names(operation.Parameters), name, operation.OperationID)
			}
			seen[operation.OperationID] = true
		}
	}
	require.Len(t, seen, len(calls), "a call of the table is not an operation of the API")
}

func names(parameters []struct{ Name, In string }) (all []string) {
	for _, p := range parameters {
		all = append(all, p.Name)
	}
	return all
}

// requestOf is the last request that a call makes to an API that answers 404.
func requestOf(t *testing.T, call func(*client.Client, *testing.T)) *http.Request {
	t.Helper()
	var last *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r
		if path.Base(r.URL.Path) == "first" { // a watch reads the task before its events
			_ = json.NewEncoder(w).Encode(client.Task{ID: "first"})
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(client.Error{Code: client.Conflict, Status: http.StatusConflict})
	}))
	defer srv.Close()
	call(clientOf(t, srv.URL), t)
	require.NotNil(t, last)
	return last
}

// calls are the methods by operation. Ids hold what must be escaped.
var calls = map[string]func(c *client.Client, t *testing.T){
	"create-task": func(c *client.Client, t *testing.T) { _, _ = c.Create(t.Context(), small, "") },
	"list-tasks": func(c *client.Client, t *testing.T) {
		_, _ = c.List(t.Context(), client.Filter{Status: client.Failed, Kind: "k", Labels: map[string]string{"a": "b"}, Cursor: "c", Limit: 1})
	},
	"get-task":    func(c *client.Client, t *testing.T) { _, _ = c.Wait(t.Context(), "a/b", 3, time.Second) },
	"cancel-task": func(c *client.Client, t *testing.T) { _, _ = c.Cancel(t.Context(), "a/b") },
	"pause-task":  func(c *client.Client, t *testing.T) { _, _ = c.PauseTask(t.Context(), "a/b", "") },
	"resume-task": func(c *client.Client, t *testing.T) { _, _ = c.ResumeTask(t.Context(), "a/b") },
	"replay-task": func(c *client.Client, t *testing.T) { _, _ = c.Replay(t.Context(), "a/b", client.ReplayOrder{}, "") },
	"input-task":  func(c *client.Client, t *testing.T) { _, _ = c.Input(t.Context(), "a/b", client.Reply{}) },
	"task-events": func(c *client.Client, t *testing.T) { _, _ = c.Watch(t.Context(), "first", func(client.Task) {}) },
	"all-events":  func(c *client.Client, t *testing.T) { _ = c.WatchAll(t.Context(), func(client.Task) {}) },
	"get-result":  func(c *client.Client, t *testing.T) { _ = c.DecodeResult(t.Context(), "a/b", nil) },
	"list-items": func(c *client.Client, t *testing.T) {
		_, _ = c.ListItems(t.Context(), "a/b", client.ItemFilter{Status: client.ItemFailed, Cursor: "c", Limit: 1})
	},
	"get-items": func(c *client.Client, t *testing.T) {
		for _, err := range c.StreamItems(t.Context(), "a/b") {
			require.Error(t, err)
		}
	},
	"list-artifacts": func(c *client.Client, t *testing.T) { _, _ = c.Artifacts(t.Context(), "a/b") },
	"get-artifact":   func(c *client.Client, t *testing.T) { _, _ = c.Artifact(t.Context(), "a/b", "c/d?") },
	"get-timeline":   func(c *client.Client, t *testing.T) { _, _ = c.Timeline(t.Context(), "a/b") },

	"list-dead-letters": func(c *client.Client, t *testing.T) {
		_, _ = c.ListDeadLetters(t.Context(), client.DeadFilter{Status: client.DeadReplayed, Kind: "k", Fingerprint: "f", Cursor: "c", Limit: 1})
	},
	"list-dead-letter-groups": func(c *client.Client, t *testing.T) { _, _ = c.DeadGroups(t.Context()) },
	"replay-dead-letters":     func(c *client.Client, t *testing.T) { _, _ = c.ReplayMany(t.Context(), client.ReplayInput{}, "") },
	"get-dead-letter":         func(c *client.Client, t *testing.T) { _, _ = c.DeadLetter(t.Context(), "a/b") },
	"replay-dead-letter": func(c *client.Client, t *testing.T) {
		_, _ = c.ReplayDeadLetter(t.Context(), "a/b", client.ReplayOrder{})
	},
	"discard-dead-letter": func(c *client.Client, t *testing.T) { _, _ = c.Discard(t.Context(), "a/b", "why") },

	"list-deliveries": func(c *client.Client, t *testing.T) { _, _ = c.Deliveries(t.Context(), "a/b") },
	"redeliver":       func(c *client.Client, t *testing.T) { _, _ = c.Redeliver(t.Context(), "a/b") },
	"add-webhook":     func(c *client.Client, t *testing.T) { _, _ = c.AddWebhook(t.Context(), client.NewWebhook{}) },
	"list-webhooks":   func(c *client.Client, t *testing.T) { _, _ = c.Webhooks(t.Context()) },
	"delete-webhook":  func(c *client.Client, t *testing.T) { _ = c.DeleteWebhook(t.Context(), "a/b") },
	"rotate-webhook":  func(c *client.Client, t *testing.T) { _, _ = c.RotateWebhook(t.Context(), "a/b") },
	"test-webhook":    func(c *client.Client, t *testing.T) { _, _ = c.TestWebhook(t.Context(), "a/b") },

	"upload-file": func(c *client.Client, t *testing.T) {
		_, _ = c.Upload(t.Context(), "a b.txt", strings.NewReader("text"), 4)
	},
	"get-file":         func(c *client.Client, t *testing.T) { _, _ = c.File(t.Context(), "a/b") },
	"get-file-content": func(c *client.Client, t *testing.T) { _, _ = c.FileContent(t.Context(), "a/b") },
	"delete-file":      func(c *client.Client, t *testing.T) { _ = c.DeleteFile(t.Context(), "a/b") },

	"list-kinds": func(c *client.Client, t *testing.T) { _, _ = c.Kinds(t.Context()) },
	"get-kind":   func(c *client.Client, t *testing.T) { _, _ = c.Kind(t.Context(), "a/b") },
	"get-limits": func(c *client.Client, t *testing.T) { _, _ = c.Limits(t.Context()) },
	"get-system": func(c *client.Client, t *testing.T) { _, _ = c.System(t.Context()) },
	"healthz":    func(c *client.Client, t *testing.T) { _, _ = c.Health(t.Context()) },
	"readyz":     func(c *client.Client, t *testing.T) { _, _ = c.Ready(t.Context()) },
}
