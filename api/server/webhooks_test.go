package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/task"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	made := a.post("/v1/webhooks", `{"url":"https://example.com/hook","events":["task.failed","task.input_required"]}`)
	require.Equal(t, http.StatusCreated, made.status, string(made.body))
	require.Equal(t, "no-store", made.header.Get("Cache-Control"))
	e := into[task.Endpoint](t, made)
	require.NotEmpty(t, e.Secret)
	require.Equal(t, []task.Occasion{task.OnFailed, task.OnInputRequired}, e.Events)
	mail := into[task.Endpoint](t, a.post("/v1/webhooks", `{"email":"ops@example.com"}`))
	require.Equal(t, "mailto:ops@example.com", mail.URL)

	list := a.do("GET", "/v1/webhooks", nil, "")
	require.Len(t, into[task.Page[task.Endpoint]](t, list).Data, 2)
	require.NotContains(t, string(list.body), "whsec_", "a secret is shown once")
	rotated := a.post("/v1/webhooks/"+e.ID+"/rotate", "")
	require.NotEqual(t, e.Secret, into[task.Endpoint](t, rotated).Secret)
	require.Equal(t, "no-store", rotated.header.Get("Cache-Control"))
	require.Equal(t, "it refused the connection", into[task.Attempt](t, a.post("/v1/webhooks/"+e.ID+"/test", "")).Error)
	require.Equal(t, http.StatusNoContent, a.do("DELETE", "/v1/webhooks/"+e.ID, nil, "").status)
	for _, r := range []reply{
		a.do("DELETE", "/v1/webhooks/"+e.ID, nil, ""), a.post("/v1/webhooks/"+e.ID+"/test", ""), a.post("/v1/webhooks/"+e.ID+"/rotate", ""),
	} {
		require.Equal(t, task.NotFound, r.problem(t).Code)
	}
}

func TestWebhooks_refusals(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	for body, want := range map[string]string{
		`{}`:                                     "needs either url or email",
		`{"url":"https://a.b","email":"a@b.c"}`:  "needs either url or email",
		`{"url":"ftp://example.com"}`:            "must be an http or https address",
		`{"url":"https://me:pw@example.com"}`:    "must not hold a user or a password",
		`{"email":"a@b.c, d@e.f"}`:               "must be one mailbox",
		`{"url":"https://a.b","events":[]}`:      "/events",
		`{"url":"https://a.b","events":["all"]}`: "/events/0",
		`{"url":"https://a.b","secret":"x"}`:     "secret",
	} {
		p := a.post("/v1/webhooks", body).problem(t)
		require.Equal(t, task.Invalid, p.Code)
		require.Contains(t, p.Detail, want, body)
		require.NotContains(t, p.Detail, "pw@")
	}
}

func TestCreate_whoHears(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	create := func(more string) reply {
		return a.post("/v1/tasks", `{"kind":"summary","input":{"documents":[{"text":"a"}]},`+more+`}`)
	}
	secret := "whsec_" + strings.Repeat("A", 32)
	r := create(`"webhook":{"url":"https://example.com/?a=b","events":["task.failed"],"secret":"` + secret + `"},"notify":{"email":"ops@example.com"}`)
	require.Equal(t, http.StatusAccepted, r.status, string(r.body))
	require.NotContains(t, string(r.body), secret)
	d := a.tasks.Drafts()[0]
	require.Equal(t, &task.Webhook{URL: "https://example.com/?a=b", Events: []task.Occasion{task.OnFailed}, Secret: secret}, d.Webhook)
	require.Equal(t, "ops@example.com", d.Email)
	require.Equal(t, http.StatusAccepted, create(`"webhook":{"url":"https://a.b","secret":"wh_`+strings.Repeat("a", 26)+`"}`).status)

	for more, pointer := range map[string]string{
		`"webhook":{"url":"/hook"}`: "/webhook/url",
		`"webhook":{}`:              "/webhook/url",
		`"webhook":{"url":"https://a.b","secret":"whsec_c2hvcnQ="}`:  "/webhook/secret",
		`"webhook":{"url":"https://a.b","secret":"my-own-password"}`: "/webhook/secret",
		`"webhook":{"url":"https://a.b","events":["task.finished"]}`: "/webhook/events/0",
		`"notify":{"email":"everybody"}`:                             "/notify/email",
		`"notify":{"mail":"a@b.c"}`:                                  "/notify",
		`"webhook":{"url":"https://a.b","token":"my-own-password"}`:  "/webhook",
	} {
		p := create(more).problem(t)
		require.NotEmpty(t, p.Errors)
		require.True(t, strings.HasPrefix(p.Errors[0].Pointer, pointer), "%s: %+v", more, p.Errors)
		require.NotContains(t, p.Detail, "my-own-password", "a secret is not shown in an error")
	}
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	id := into[task.Task](t, a.post("/v1/tasks", `{"kind":"summary","input":{"documents":[{"text":"a"}]}}`)).ID
	all := into[task.Page[task.Delivery]](t, a.do("GET", "/v1/tasks/"+id+"/deliveries", nil, ""))
	require.Len(t, all.Data, 1)
	require.Equal(t, 500, all.Data[0].Attempts[0].StatusCode)
	again := a.post("/v1/deliveries/"+all.Data[0].ID+"/redeliver", "")
	require.Equal(t, http.StatusAccepted, again.status)
	require.Equal(t, task.DeliveryPending, into[task.Delivery](t, again).Status)
	require.Equal(t, task.NotFound, a.post("/v1/deliveries/msg_x/redeliver", "").problem(t).Code)
	require.Equal(t, task.NotFound, a.do("GET", "/v1/tasks/task-99/deliveries", nil, "").problem(t).Code)
}

func TestWebhooks_otherTenants(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(p *server.Parts) { p.Keys = map[string]string{"k1": "one", "k2": "two"} })
	as := func(key, method, path, body string) reply {
		return a.do(method, path, map[string]string{"X-API-Key": key, "Content-Type": "application/json"}, body)
	}
	e := into[task.Endpoint](t, as("k1", "POST", "/v1/webhooks", `{"url":"https://a.b"}`))
	require.Empty(t, into[task.Page[task.Endpoint]](t, as("k2", "GET", "/v1/webhooks", "")).Data)
	require.Equal(t, task.NotFound, as("k2", "DELETE", "/v1/webhooks/"+e.ID, "").problem(t).Code)
	require.Equal(t, task.NotFound, as("k2", "POST", "/v1/webhooks/"+e.ID+"/rotate", "").problem(t).Code)
}
