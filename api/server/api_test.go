package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/task"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// api is a server under test. Every answer it gives is checked against its own description.
type api struct {
	t      *testing.T
	tasks  *servertest.Tasks
	srv    *httptest.Server
	doc    *openapi3.T
	router routers.Router
}

func newAPI(t *testing.T, change func(p *server.Parts)) *api {
	t.Helper()
	tasks := servertest.NewTasks()
	parts := servertest.Parts(t, tasks)
	if change != nil {
		change(&parts)
	}
	a := &api{t: t, tasks: tasks, srv: servertest.Start(t, parts)}
	var err error
	a.doc, err = openapi3.NewLoader().LoadFromData(a.do("GET", "/openapi.json", nil, "").body)
	require.NoError(t, err)
	a.router, err = gorillamux.NewRouter(a.doc)
	require.NoError(t, err)
	return a
}

// on gives the same server to a subtest.
func (a *api) on(t *testing.T) *api {
	sub := *a
	sub.t = t
	return &sub
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) problem(t *testing.T) task.Error {
	t.Helper()
	require.Equal(t, "application/problem+json", r.header.Get("Content-Type"), string(r.body))
	return into[task.Error](t, r)
}

func into[T any](t *testing.T, r reply) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(r.body, &v), string(r.body))
	return v
}

func (a *api) do(method, path string, header map[string]string, body string) reply {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.srv.URL+path, strings.NewReader(body))
	require.NoError(a.t, err)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := a.srv.Client().Do(req)
	require.NoError(a.t, err)
	defer func() { _ = resp.Body.Close() }()
	r := reply{status: resp.StatusCode, header: resp.Header}
	r.body, err = io.ReadAll(resp.Body)
	require.NoError(a.t, err)
	a.check(req, r)
	return r
}

// check compares an answer with the OpenAPI document.
func (a *api) check(req *http.Request, r reply) {
	a.t.Helper()
	if a.router == nil {
		return
	}
	relative := req.Clone(req.Context())
	relative.URL.Scheme, relative.URL.Host, relative.Host = "", "", ""
	route, params, err := a.router.FindRoute(relative)
	if err != nil { // the pages, and routes that are not there
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: relative, PathParams: params, Route: route},
		Status:                 r.status, Header: r.header, Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if !strings.Contains(r.header.Get("Content-Type"), "json") || strings.Contains(r.header.Get("Content-Type"), "jsonl") {
		in.Options.ExcludeResponseBody = true
	}
	in.SetBodyBytes(r.body)
	require.NoError(a.t, openapi3filter.ValidateResponse(req.Context(), in), "%s %s", req.Method, req.URL)
}

func (a *api) post(path, body string) reply {
	a.t.Helper()
	return a.do("POST", path, map[string]string{"Content-Type": "application/json"}, body)
}

const small = `{"kind":"summary","input":{"documents":[{"text":"It was the best of times."}]}}`

func (a *api) submit() task.Task {
	a.t.Helper()
	r := a.post("/v1/tasks", small)
	require.Equal(a.t, http.StatusAccepted, r.status, string(r.body))
	return into[task.Task](a.t, r)
}

func TestSpec_isValidAndKeptUpToDate(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	require.NoError(t, a.doc.Validate(t.Context()))
	spec := a.do("GET", "/openapi.json", nil, "").body
	spec = append(bytes.TrimSpace(spec), '\n')
	if *update {
		require.NoError(t, os.WriteFile("openapi.json", spec, 0o600))
	}
	golden, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	require.Equal(t, string(golden), string(spec), "the API changed; run go test ./api/server -update and read the difference")
}
