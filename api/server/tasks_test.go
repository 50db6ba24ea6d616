package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/task"
)

func TestCreate_understandsEverything(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	body := `{"kind":"summary","input":{"documents":[{"text":"a"}],"words":100},"labels":{"ticket":"9007199254740993"},
		"priority":2,"delay":"1m30s","deadline":"2h","model":"m-1"}`
	r := a.post("/v1/tasks", body)
	require.Equal(t, http.StatusAccepted, r.status, string(r.body))
	created := into[task.Task](t, r)
	require.Equal(t, "/v1/tasks/"+created.ID, r.header.Get("Location"))
	require.Equal(t, "1", r.header.Get("Retry-After"))
	require.Equal(t, `"1"`, r.header.Get("ETag"))

	d := a.tasks.Drafts()[0]
	require.Equal(t, "default", d.Tenant)
	require.JSONEq(t, `{"documents":[{"text":"a"}],"words":100}`, string(d.Input))
	require.Equal(t, task.Options{
		Labels: map[string]string{"ticket": "9007199254740993"}, Priority: 2, Delay: 90 * time.Second, Within: 2 * time.Hour, Model: "m-1",
	}, d.Options)
	require.Equal(t, http.StatusOK, a.do("GET", r.header.Get("Location"), nil, "").status, "accepted means that it can be read")
}

func TestCreate_absoluteTimes(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	start := time.Now().Add(time.Hour).Truncate(time.Second)
	body := `{"kind":"summary","input":{"documents":[{"text":"a"}]},"start_at":"` + start.In(time.FixedZone("", 8*3600)).Format(time.RFC3339) +
		`","deadline":"` + start.Add(time.Hour).Format(time.RFC3339) + `"}`
	require.Equal(t, http.StatusAccepted, a.post("/v1/tasks", body).status)
	d := a.tasks.Drafts()[0]
	require.Equal(t, start.UTC(), *d.StartAt)
	require.Equal(t, start.Add(time.Hour).UTC(), *d.Deadline)
}

func TestCreate_keepsNumbersDigitForDigit(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(p *server.Parts) {
		p.Kinds = append(p.Kinds, task.KindInfo{Name: "echo", Title: "Echo", InputSchema: []byte(`{"type":"object"}`), Example: []byte(`{}`)})
	})
	input := `{"id":9007199254740993,"x":1e300,"y":0.10000000000000000001,"text":"<b>&"}`
	require.Equal(t, http.StatusAccepted, a.post("/v1/tasks", `{"kind":"echo","input":`+input+`}`).status)
	require.Equal(t, input, string(a.tasks.Drafts()[0].Input))
	a.tasks.Succeed("task-1", input, task.Full)
	require.Contains(t, string(a.do("GET", "/v1/tasks/task-1", nil, "").body), `"result":`+input)
	require.Equal(t, input, string(a.do("GET", "/v1/tasks/task-1/result", nil, "").body))
}

func TestCreate_idempotencyKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(p *server.Parts) { p.Keys = map[string]string{"ka": "a", "kb": "b"} })
	header := map[string]string{"Content-Type": "application/json", "Idempotency-Key": "order 7", "X-API-Key": "ka"}
	first := a.do("POST", "/v1/tasks", header, small)
	require.Empty(t, first.header.Get("Idempotency-Replayed"))
	again := a.do("POST", "/v1/tasks", header, small)
	require.Equal(t, http.StatusAccepted, again.status)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, into[task.Task](t, first).ID, into[task.Task](t, again).ID)

	other := a.do("POST", "/v1/tasks", header, strings.Replace(small, "best", "worst", 1))
	require.Equal(t, http.StatusUnprocessableEntity, other.status)
	require.Equal(t, task.KeyReused, other.problem(t).Code)

	header["X-API-Key"] = "kb"
	theirs := a.do("POST", "/v1/tasks", header, small)
	require.Empty(t, theirs.header.Get("Idempotency-Replayed"), "keys are per tenant")
}

func TestCreate_preferWait(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prefer  string
		ends    bool
		status  int
		applied string
	}{
		"ends in time":         {"wait=30", true, 200, "wait=30"},
		"among others":         {"respond-async, wait=30; x", true, 200, "wait=30"},
		"more than allowed":    {"wait=600", true, 200, "wait=60"},
		"does not end":         {"wait=1", false, 202, "wait=1"},
		"cannot be understood": {"wait=long", false, 202, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, nil)
			if tt.ends {
				a.tasks.OnCreate = func(id string) {
					a.tasks.Change(id, func(t *task.Task) { t.Status = task.Processing })
					a.tasks.Succeed(id, `{}`, task.Full)
				}
			}
			r := a.do("POST", "/v1/tasks", map[string]string{"Content-Type": "application/json", "Prefer": tt.prefer}, small)
			require.Equal(t, tt.status, r.status)
			require.Equal(t, tt.applied, r.header.Get("Preference-Applied"))
			require.Equal(t, tt.status == 200, into[task.Task](t, r).Done)
			require.NotEmpty(t, r.header.Get("Location"))
		})
	}
}

func TestGet_longPoll(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID

	answers := make(chan reply, 2)
	go func() { answers <- a.do("GET", "/v1/tasks/"+id+"?wait=60s", nil, "") }()
	go func() { answers <- a.do("GET", "/v1/tasks/"+id+"?wait=60&after_revision=1", nil, "") }()
	require.Eventually(t, func() bool { return a.tasks.Waiters() == 2 }, 30*time.Second, time.Millisecond)
	require.Never(t, func() bool { return len(answers) > 0 }, 100*time.Millisecond, 20*time.Millisecond)
	a.tasks.Change(id, func(t *task.Task) { t.Status = task.Processing })
	for range 2 {
		select {
		case r := <-answers:
			require.Equal(t, int64(2), into[task.Task](t, r).Revision)
		case <-time.After(30 * time.Second):
			t.Fatal("the long poll did not answer")
		}
	}
	began := time.Now()
	require.Equal(t, int64(2), into[task.Task](t, a.do("GET", "/v1/tasks/"+id+"?wait=60s&after_revision=1", nil, "")).Revision)
	a.tasks.Succeed(id, `{}`, task.Full)
	require.True(t, into[task.Task](t, a.do("GET", "/v1/tasks/"+id+"?wait=60s&after_revision=99", nil, "")).Done)
	require.Less(t, time.Since(began), 10*time.Second)
}

func TestGet_etag(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID
	tests := map[string]struct {
		ifNoneMatch string
		status      int
	}{
		"same": {`"1"`, 304}, "weak": {`W/"1"`, 304}, "in a list": {`"7", "1"`, 304}, "any": {`*`, 304}, "other": {`"2"`, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := a.on(t)
			r := a.do("GET", "/v1/tasks/"+id, map[string]string{"If-None-Match": tt.ifNoneMatch}, "")
			require.Equal(t, tt.status, r.status)
			require.Equal(t, `"1"`, r.header.Get("ETag"))
			require.Equal(t, tt.status == 304, len(r.body) == 0)
		})
	}
}

func TestList_pagesAndFilters(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	require.Equal(t, `{"object":"list","data":[],"next_cursor":null}`, strings.TrimSpace(string(a.do("GET", "/v1/tasks", nil, "").body)))
	for _, project := range []string{"x", "y", "x"} {
		body := strings.TrimSuffix(small, "}") + `,"labels":{"project":"` + project + `","team":"a:b"}}`
		require.Equal(t, http.StatusAccepted, a.post("/v1/tasks", body).status)
	}
	ids := func(path string) (ids []string, cursor *string) {
		page := into[task.Page[task.Task]](t, a.do("GET", path, nil, ""))
		for _, t := range page.Data {
			ids = append(ids, t.ID)
		}
		return ids, page.NextCursor
	}
	first, cursor := ids("/v1/tasks?limit=2")
	require.Equal(t, []string{"task-1", "task-2"}, first)
	rest, cursor := ids("/v1/tasks?limit=2&cursor=" + *cursor)
	require.Equal(t, []string{"task-3"}, rest)
	require.Nil(t, cursor)
	labelled, _ := ids("/v1/tasks?label=project:x&label=team:a:b")
	require.Equal(t, []string{"task-1", "task-3"}, labelled)
	failed, _ := ids("/v1/tasks?status=failed&kind=summary")
	require.Empty(t, failed)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID
	r := a.do("POST", "/v1/tasks/"+id+"/cancel", nil, "")
	require.Equal(t, http.StatusAccepted, r.status)
	require.Equal(t, task.Cancelling, into[task.Task](t, r).Status)
	a.tasks.Change(id, func(t *task.Task) { t.Status = task.Cancelled })
	r = a.do("POST", "/v1/tasks/"+id+"/cancel", nil, "")
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, task.Cancelled, into[task.Task](t, r).Status)
}

func TestResult(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID
	r := a.do("GET", "/v1/tasks/"+id+"/result", nil, "")
	require.Equal(t, http.StatusAccepted, r.status)
	require.Equal(t, "1", r.header.Get("Retry-After"))
	require.Equal(t, id, into[task.Task](t, r).ID)

	a.tasks.Succeed(id, `{"text":"天气"}`, task.Full)
	r = a.do("GET", "/v1/tasks/"+id+"/result", nil, "")
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.JSONEq(t, `{"text":"天气"}`, string(r.body))

	failed := a.submit().ID
	a.tasks.Change(failed, func(t *task.Task) {
		t.Status, t.Error = task.Failed, task.Errorf(task.ModelAuth, "the key was refused")
	})
	r = a.do("GET", "/v1/tasks/"+failed+"/result", nil, "")
	require.Equal(t, http.StatusConflict, r.status)
	require.Contains(t, r.problem(t).Detail, "the key was refused")
}

func TestItems(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID
	items := []task.Item{
		{ID: "a", Index: 0, Status: task.ItemSucceeded, Result: json.RawMessage(`{"n":9007199254740993}`)},
		{ID: "b", Index: 1, Status: task.ItemFailed, Error: task.Errorf(task.NoText, "it has no text")},
		{ID: "c", Index: 2, Status: task.ItemPending},
	}
	a.tasks.Give(id, items, nil)
	page := into[task.Page[task.Item]](t, a.do("GET", "/v1/tasks/"+id+"/items?status=failed", nil, ""))
	require.Len(t, page.Data, 1)
	require.Equal(t, task.NoText, page.Data[0].Error.Code)

	r := a.do("GET", "/v1/tasks/"+id+"/items.jsonl", nil, "")
	require.Equal(t, "application/jsonl", r.header.Get("Content-Type"))
	lines := bytes.Split(bytes.TrimSpace(r.body), []byte("\n"))
	require.Len(t, lines, 3)
	require.Contains(t, string(lines[0]), "9007199254740993")
	require.Equal(t, http.StatusOK, a.do("GET", "/v1/tasks/"+a.submit().ID+"/items.jsonl", nil, "").status, "no items yet is an empty list")
}

func TestItemLines_thatBreakOffAreNotTakenForAll(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID
	a.tasks.Give(id, []task.Item{{ID: "a"}, {ID: "b", Index: -1}}, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.srv.URL+"/v1/tasks/"+id+"/items.jsonl", nil)
	require.NoError(t, err)
	resp, err := a.srv.Client().Do(req)
	if err == nil {
		_, err = resp.Body.Read(make([]byte, 1<<20))
		_ = resp.Body.Close()
	}
	require.Error(t, err)
}

func TestArtifacts(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := a.submit().ID
	a.tasks.Give(id, nil, map[string]string{"report.md": "# Report\n", "page.html": "<script>1</script>"})
	require.Len(t, into[task.Page[task.Artifact]](t, a.do("GET", "/v1/tasks/"+id+"/artifacts", nil, "")).Data, 2)

	r := a.do("GET", "/v1/tasks/"+id+"/artifacts/report.md", nil, "")
	require.Equal(t, "# Report\n", string(r.body))
	require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
	require.Equal(t, `inline; filename="report.md"; filename*=UTF-8''report.md`, r.header.Get("Content-Disposition"))
	tag := r.header.Get("ETag")
	require.Equal(t, http.StatusNotModified, a.do("GET", "/v1/tasks/"+id+"/artifacts/report.md", map[string]string{"If-None-Match": tag}, "").status)

	part := a.do("GET", "/v1/tasks/"+id+"/artifacts/report.md", map[string]string{"Range": "bytes=2-7", "If-Range": tag}, "")
	require.Equal(t, http.StatusPartialContent, part.status)
	require.Equal(t, "Report", string(part.body))

	r = a.do("GET", "/v1/tasks/"+id+"/artifacts/page.html", nil, "")
	require.Contains(t, r.header.Get("Content-Disposition"), "attachment")
	require.Contains(t, r.header.Get("Content-Security-Policy"), "sandbox")
}

func TestAbout(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	require.Len(t, into[task.Page[task.KindInfo]](t, a.do("GET", "/v1/kinds", nil, "")).Data, 1)
	require.Equal(t, "Summarise documents", into[task.KindInfo](t, a.do("GET", "/v1/kinds/summary", nil, "")).Title)
	require.Contains(t, string(a.do("GET", "/v1/limits", nil, "").body), `"max_body_bytes":65536`)
	require.Equal(t, http.StatusOK, a.do("GET", "/v1/tasks/"+a.submit().ID+"/timeline", nil, "").status)
	require.Equal(t, http.StatusOK, a.do("HEAD", "/healthz", nil, "").status)
	require.Equal(t, http.StatusOK, a.do("GET", "/readyz", nil, "").status)
	a.tasks.NotReady = task.Errorf(task.Unavailable, "Temporal does not answer")
	r := a.do("GET", "/readyz", nil, "")
	require.Equal(t, http.StatusServiceUnavailable, r.status)
	require.Equal(t, "Temporal does not answer", r.problem(t).Detail)
	require.Equal(t, "5", r.header.Get("Retry-After"))
	for _, kind := range into[task.Page[task.KindInfo]](t, a.do("GET", "/v1/kinds", nil, "")).Data {
		require.Equal(t, http.StatusAccepted, a.post("/v1/tasks", string(kind.Example)).status, "the example of %s is accepted", kind.Name)
	}
}

func TestInternalErrors_areLoggedAndNotTold(t *testing.T) {
	t.Parallel()
	log := &servertest.Buffer{}
	a := newAPI(t, func(p *server.Parts) {
		p.Log = slog.New(slog.NewJSONHandler(log, nil))
		p.Keys = map[string]string{"marker-key": "a"}
	})
	a.tasks.NotReady = errors.New("dial 10.1.2.3: marker-cause")
	r := a.do("GET", "/readyz", map[string]string{"X-Request-Id": "req-77"}, "")
	require.NotContains(t, string(r.body), "marker-cause")
	require.Equal(t, "req-77", r.header.Get("X-Request-Id"))
	require.Contains(t, log.String(), "marker-cause")

	a.do("GET", "/v1/tasks?cursor=marker-query", map[string]string{"Authorization": "Bearer marker-key", "X-Forwarded-For": "6.6.6.6"}, "")
	require.Contains(t, log.String(), `"route":"/v1/tasks"`)
	require.NotContains(t, log.String(), "marker-query")
	require.NotContains(t, log.String(), "marker-key")
	require.NotContains(t, log.String(), "6.6.6.6")

	forged := a.do("GET", "/healthz", map[string]string{"X-Request-Id": `a"b c`}, "")
	require.Len(t, forged.header.Get("X-Request-Id"), 26)
}
