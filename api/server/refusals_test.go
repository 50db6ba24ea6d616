package server_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/task"
)

func TestCreate_refusals(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	tests := map[string]struct {
		body    string
		header  map[string]string
		status  int
		code    task.Code
		pointer string
		says    string
	}{
		"unknown field":         {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"prioritty":1}`, pointer: "/prioritty", says: `did you mean "priority"`},
		"unknown field, inside": {body: `{"kind":"summary","input":{"documents":[{"text":"a"}],"wrods":1}}`, pointer: "/input/wrods", says: `did you mean "words"`},
		"unknown field, deep":   {body: `{"kind":"summary","input":{"documents":[{"text":"a","nmae":"b"}]}}`, pointer: "/input/documents/0/nmae", says: `did you mean "name"`},
		"other case":            {body: `{"Kind":"summary","input":{"documents":[{"text":"a"}]}}`, pointer: "/Kind", says: `did you mean "kind"`},
		"wrong type":            {body: `{"kind":"summary","input":{"documents":"a.pdf"}}`, pointer: "/input/documents", says: "must be an array, not a string"},
		"null for required":     {body: `{"kind":"summary","input":null}`, pointer: "/input", says: "must be an object, not null"},
		"missing":               {body: `{"kind":"summary"}`, pointer: "/input", says: "is required"},
		"unknown kind":          {body: `{"kind":"sumary","input":{}}`, pointer: "/kind", says: "must be one of summary"},
		"no kind":               {body: `{"input":{}}`, pointer: "/kind", says: "is required"},
		"kind of wrong type":    {body: `{"kind":7,"input":{}}`, pointer: "/kind", says: "must be a string"},
		"whole as fraction":     {body: `{"kind":"summary","input":{"documents":[{"text":"a"}],"words":100.0}}`, pointer: "/input/words", says: "digits only"},
		"vast number":           {body: `{"kind":"summary","input":{"documents":[{"text":"a"}],"words":1e999999}}`, pointer: "/input/words", says: "400 digits"},
		"priority":              {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"priority":9}`, pointer: "/priority", says: "at most 5"},
		"label key":             {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"labels":{"Project X":"a"}}`, pointer: "/labels/Project X", says: "not an allowed name"},
		"label value":           {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"labels":{"a":"` + strings.Repeat("文", 257) + `"}}`, pointer: "/labels/a", says: "at most 256"},
		"delay":                 {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"delay":"soon"}`, pointer: "/delay", says: "90s"},
		"delay and start":       {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"delay":"1m","start_at":"2020-01-02T15:04:05Z"}`, pointer: "/start_at", says: "together"},
		"start without offset":  {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"start_at":"2030-01-02T15:04:05"}`, pointer: "/start_at", says: "RFC 3339"},
		"deadline":              {body: `{"kind":"summary","input":{"documents":[{"text":"a"}]},"deadline":"tomorrow"}`, pointer: "/deadline", says: "RFC 3339"},
		"key twice":             {body: `{"kind":"summary","kind":"summary","input":{}}`, pointer: "/kind", says: "appears twice"},
		"not an object":         {body: `[1]`, pointer: "", says: "must be an object"},
		"trailing garbage":      {body: small + "x", status: 400, code: task.BadRequest, says: "after top-level value"},
		"two values":            {body: small + small, status: 400, code: task.BadRequest, says: "after top-level value"},
		"not JSON":              {body: "kind: summary", status: 400, code: task.BadRequest, says: "line 1, column 1"},
		"empty":                 {body: "", status: 400, code: task.BadRequest, says: "not JSON"},
		"not UTF-8":             {body: "{\"kind\":\"\xff\"}", status: 400, code: task.BadRequest, says: "UTF-8"},
		"too deep":              {body: strings.Repeat("[", 70) + strings.Repeat("]", 70), says: "deeper than 64"},
		"too large":             {body: `{"kind":"` + strings.Repeat("x", 64<<10) + `"}`, status: 413, code: task.TooLarge, says: "65536 bytes; upload large documents with POST /v1/files"},
		"wrong content type":    {body: small, header: map[string]string{"Content-Type": "text/plain"}, status: 415, code: task.WrongMedia, says: "application/json"},
		"wrong charset":         {body: small, header: map[string]string{"Content-Type": "application/json; charset=latin1"}, status: 415, code: task.WrongMedia, says: "UTF-8"},
		"long key":              {body: small, header: map[string]string{"Idempotency-Key": strings.Repeat("k", 256)}, says: "255"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := a.on(t)
			header := map[string]string{"Content-Type": "application/json"}
			maps.Copy(header, tt.header)
			r := a.do("POST", "/v1/tasks", header, tt.body)
			if tt.status == 0 {
				tt.status, tt.code = http.StatusUnprocessableEntity, task.Invalid
			}
			require.Equal(t, tt.status, r.status, string(r.body))
			p := r.problem(t)
			require.Equal(t, tt.code, p.Code)
			require.Equal(t, tt.status, p.Status)
			require.Contains(t, p.Detail, tt.says)
			if tt.pointer != "" {
				require.NotEmpty(t, p.Errors)
				require.Equal(t, tt.pointer, p.Errors[0].Pointer)
			}
		})
	}
	t.Cleanup(func() { require.Empty(t, a.tasks.Drafts(), "a refused request started something") })
}

func TestCreate_namesEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	r := newAPI(t, nil).post("/v1/tasks", `{"kind":"summary","input":{"documents":[{"url":"x"},{}],"words":1},"priority":0,"x":1}`)
	p := r.problem(t)
	var pointers []string
	for _, f := range p.Errors {
		pointers = append(pointers, f.Pointer)
	}
	require.Equal(t, []string{"/input/documents/0/url", "/input/documents/1", "/input/words", "/priority", "/x"}, pointers)
	require.Contains(t, p.Detail, "(and 4 more, see errors)")
}

func TestReads_refusals(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID
	tests := map[string]struct {
		method, path string
		status       int
		says         string
	}{
		"unknown parameter":    {"GET", "/v1/tasks?statsu=failed", 422, `?statsu: unknown parameter "statsu"; did you mean "status"?`},
		"parameter elsewhere":  {"GET", "/v1/kinds?limit=3", 422, `?limit: unknown parameter`},
		"parameter on a post":  {"POST", "/v1/tasks/" + id + "/cancel?force=true", 422, `?force: unknown parameter`},
		"parameter on health":  {"GET", "/healthz?x=1", 422, `?x: unknown parameter`},
		"parameter twice":      {"GET", "/v1/tasks?limit=1&limit=2", 422, "?limit: is there 2 times"},
		"malformed query":      {"GET", "/v1/tasks?limit=%zz", 400, "well-formed"},
		"query with NUL":       {"GET", "/v1/tasks?kind=a%00b", 422, "control characters"},
		"query not in UTF-8":   {"GET", "/v1/dead-letters?fingerprint=%ff", 422, "UTF-8"},
		"bad status":           {"GET", "/v1/tasks?status=done", 422, "?status: "},
		"bad limit":            {"GET", "/v1/tasks?limit=ten", 422, "?limit: "},
		"zero limit":           {"GET", "/v1/tasks?limit=0", 422, "?limit: "},
		"large limit":          {"GET", "/v1/tasks?limit=101", 422, "?limit: "},
		"bad cursor":           {"GET", "/v1/tasks?cursor=xyz", 422, "cursor"},
		"bad label":            {"GET", "/v1/tasks?label=project", 422, "?label: must be key:value"},
		"label with two":       {"GET", "/v1/tasks?label=a:1&label=a:2", 422, "a task has one"},
		"bad wait":             {"GET", "/v1/tasks/" + id + "?wait=soon", 422, "?wait: must be a duration of at most 1m0s"},
		"long wait":            {"GET", "/v1/tasks/" + id + "?wait=61s", 422, "?wait: "},
		"negative wait":        {"GET", "/v1/tasks/" + id + "?wait=-1s", 422, "?wait: "},
		"bad revision":         {"GET", "/v1/tasks/" + id + "?after_revision=x", 422, "?after_revision: "},
		"bad item status":      {"GET", "/v1/tasks/" + id + "/items?status=ok", 422, "?status: "},
		"unknown id":           {"GET", "/v1/tasks/nope", 404, `no task "nope"`},
		"odd id":               {"GET", "/v1/tasks/%00%ff", 404, "no task"},
		"unknown id, poll":     {"GET", "/v1/tasks/nope?wait=60s", 404, "no task"},
		"unknown id, result":   {"GET", "/v1/tasks/nope/result", 404, "no task"},
		"unknown id, items":    {"GET", "/v1/tasks/nope/items", 404, "no task"},
		"unknown id, lines":    {"GET", "/v1/tasks/nope/items.jsonl", 404, "no task"},
		"unknown id, cancel":   {"POST", "/v1/tasks/nope/cancel", 404, "no task"},
		"unknown id, timeline": {"GET", "/v1/tasks/nope/timeline", 404, "no task"},
		"unknown artifact":     {"GET", "/v1/tasks/" + id + "/artifacts/nope", 404, `no artifact "nope"`},
		"unknown file":         {"GET", "/v1/files/file_" + strings.Repeat("a", 40), 404, "no file"},
		"malformed file":       {"GET", "/v1/files/..%2f..%2fetc", 404, ""},
		"unknown kind":         {"GET", "/v1/kinds/sumary", 404, `did you mean "summary"?`},
		"unknown route":        {"GET", "/v1/nothing", 404, "no route /v1/nothing"},
		"trailing slash":       {"GET", "/v1/tasks/", 404, "no route"},
		"wrong method":         {"PUT", "/v1/tasks/" + id, 405, "it takes GET"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := a.on(t)
			r := a.do(tt.method, tt.path, nil, "")
			require.Equal(t, tt.status, r.status, string(r.body))
			p := r.problem(t)
			require.Equal(t, tt.status, p.Status)
			require.Contains(t, p.Detail, tt.says)
			require.NotEmpty(t, r.header.Get("X-Request-Id"))
		})
	}
}

// TestOtherTenants_seeNothing asks every route that names a thing by id for another tenant's. The
// routes come from the API's own description, so a new one cannot be forgotten.
func TestOtherTenants_seeNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(p *server.Parts) { p.Keys = map[string]string{"key-of-a": "a", "key-of-b": "b"} })
	mine := map[string]string{"Authorization": "Bearer key-of-a", "Content-Type": "application/json"}
	theirs := map[string]string{"Authorization": "Bearer key-of-b"}
	taskID := into[task.Task](t, a.do("POST", "/v1/tasks", mine, small)).ID
	mine["Content-Type"] = "text/plain"
	fileID := into[task.File](t, a.do("POST", "/v1/files?name=a.txt", mine, "content of a")).ID
	a.tasks.Give(taskID, nil, map[string]string{"report.md": "# report"})
	a.tasks.Succeed(taskID, `{"ok":true}`, task.Full)
	mine["Content-Type"] = "application/json"
	deadID := into[task.Task](t, a.do("POST", "/v1/tasks", mine, small)).ID
	a.tasks.Change(deadID, func(t *task.Task) { t.Status, t.Error = task.Failed, task.Errorf(task.ModelQuota, "no money") })

	asked := 0
	for path, item := range a.doc.Paths.Map() {
		for method := range item.Operations() {
			if !strings.Contains(path, "{id}") {
				continue
			}
			id := taskID
			if strings.HasPrefix(path, "/v1/files") {
				id = fileID
			} else if strings.HasPrefix(path, "/v1/dead-letters") {
				id = deadID
			}
			path := strings.NewReplacer("{id}", id, "{name}", "report.md").Replace(path)
			body, headers := "", maps.Clone(theirs)
			if strings.HasSuffix(path, "/input") {
				body, headers["Content-Type"] = `{"action":"message","text":"a"}`, "application/json"
			} else if strings.HasSuffix(path, "/discard") {
				body, headers["Content-Type"] = `{"reason":"a"}`, "application/json"
			}
			r := a.do(method, path, headers, body)
			require.Equal(t, http.StatusNotFound, r.status, "%s %s", method, path)
			r.problem(t)
			asked++
			if method == http.MethodGet && !strings.HasSuffix(path, "/ws") { // which answers no plain GET
				require.Equal(t, http.StatusOK, a.do(method, path, mine, "").status, "%s %s by its owner", method, path)
			}
		}
	}
	require.GreaterOrEqual(t, asked, 17)
	require.Empty(t, into[task.Page[task.Task]](t, a.do("GET", "/v1/tasks", theirs, "")).Data)
	require.Equal(t, http.StatusOK, a.do("GET", "/v1/files/"+fileID, mine, "").status, "the other tenant's DELETE did nothing")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(p *server.Parts) { p.Keys = map[string]string{"secret-key": "a"} })
	tests := map[string]struct {
		header map[string]string
		status int
	}{
		"none":           {nil, 401},
		"wrong":          {map[string]string{"Authorization": "Bearer secret-kez"}, 401},
		"prefix":         {map[string]string{"Authorization": "Bearer secret"}, 401},
		"other scheme":   {map[string]string{"Authorization": "Basic secret-key"}, 401},
		"bearer":         {map[string]string{"Authorization": "Bearer secret-key"}, 200},
		"bearer, casing": {map[string]string{"Authorization": "bearer secret-key"}, 200},
		"header":         {map[string]string{"X-API-Key": "secret-key"}, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := a.on(t)
			r := a.do("GET", "/v1/limits", tt.header, "")
			require.Equal(t, tt.status, r.status)
			if tt.status == 401 {
				require.Equal(t, task.Unauthorized, r.problem(t).Code)
				require.Equal(t, `Bearer realm="longhaul"`, r.header.Get("WWW-Authenticate"))
				require.NotContains(t, string(r.body), "secret")
			}
		})
	}
	for _, open := range []string{"/", "/docs", "/openapi.json", "/healthz", "/readyz", "/ui/base.css"} {
		require.Equal(t, http.StatusOK, a.do("GET", open, nil, "").status, open)
	}
	require.Equal(t, http.StatusUnauthorized, a.do("GET", "/v1/nothing", nil, "").status)
}
