package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

func TestHTTP_secrets(t *testing.T) {
	t.Parallel()
	const value = `hush "hush"/hush`
	server, other := site(t), site(t)
	var log buffer
	own := secret("KEY", value, hostOf(server), "api.example")
	mine := secret("MINE", "mine-mine-mine", hostOf(server))
	mine.Tenants = []string{"beta"}
	k := newKit(t, Options{AllowPrivate: []string{hostOf(server), hostOf(other)}, Secrets: []Secret{own, mine}, Log: logger(&log)})
	header := map[string]string{"Authorization": "Bearer {{secret:KEY}}", "X-Key": "{{ secret:KEY }}", "X-Plain": "plain"}

	var got http.Header
	spy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		fmt.Fprintf(w, "%s %q %s", r.Header.Get("Authorization"), r.Header.Get("X-Key"), escape(r.Header.Get("X-Key")))
	}))
	t.Cleanup(spy.Close)
	host := hostOf(spy)
	k2 := newKit(t, Options{AllowPrivate: []string{host}, Secrets: []Secret{secret("KEY", value, host)}})
	d := web(t, k2, "GET", spy.URL, header)
	r := run(t, k2, d, "")
	require.Equal(t, "Bearer "+value, got.Get("Authorization"))
	require.Equal(t, value, got.Get("X-Key"))
	require.Contains(t, r.Text, "Bearer [secret]")
	require.NotContains(t, r.Text, "hush", "plain, quoted or escaped")
	require.NotContains(t, string(must(json.Marshal(d))), "hush")

	t.Run("not to another host", func(t *testing.T) {
		d := web(t, k, "GET", server.URL+"/echo/", header)
		d.Spec.HTTP.URL = other.URL + "/echo/" // as if it had been kept by somebody else
		r := run(t, k, d, "")
		require.True(t, r.IsError)
		require.Contains(t, r.Text, "The call was not made")
	})
	t.Run("not after a redirect", func(t *testing.T) {
		for _, path := range []string{"/to?u=" + other.URL + "/echo/", "/to?u=" + other.URL + "%2Fto%3Fu%3D" + server.URL + "/echo/"} {
			h := echoed(t, run(t, k, web(t, k, "GET", server.URL+path, header), ""))
			for _, name := range []string{"Authorization", "X-Key", "X-Plain", "Idempotency-Key", "Referer"} {
				require.Empty(t, h.Header.Get(name), name)
			}
		}
		h := echoed(t, run(t, k, web(t, k, "GET", server.URL+"/to?u=/echo/", header), ""))
		require.Equal(t, "Bearer [secret]", h.Header.Get("Authorization"), "the same host is meant")
	})
	t.Run("not for another tenant", func(t *testing.T) {
		d := web(t, k, "GET", server.URL+"/echo/", map[string]string{"A": "{{secret:MINE}}"})
		r := run(t, k, d, "")
		require.Contains(t, r.Text, "not for this tenant")
		r, err := k.Run(testContext(t), d, Call{Tenant: "beta"})
		require.NoError(t, err)
		require.Equal(t, "[secret]", echoed(t, r).Header.Get("A"))
	})
	t.Run("not in errors", func(t *testing.T) {
		_, err := k.Run(testContext(t), define(t, k, task.ToolSpec{HTTP: &task.HTTPTool{
			Name: "x", URL: server.URL + "/cut?" + escape(value), Headers: header,
		}}), Call{})
		for ; err != nil; err = errors.Unwrap(err) {
			require.NotContains(t, err.Error(), "hush")
		}
	})
	require.NotContains(t, log.String(), "hush")
}

func TestScrub(t *testing.T) {
	t.Parallel()
	v := vault{all: []Secret{secret("A", "hush-hush"), secret("B", "hush-hush-and more&"), secret("C", "")}}
	for _, text := range []string{"hush-hush", "hush-hush-and more&", "hush-hush-and+more%26", "hush-hush-and%20more&", `hush-hush-and more\u0026`, "aHVzaC1odXNo"} {
		require.Equal(t, "<[secret]>", v.scrub("<"+text+">"), text)
	}
	require.Equal(t, "nothing", v.scrub("nothing"))
	cause := fmt.Errorf("why: %w", errors.New("hush-hush"))
	for _, err := range []error{cause, task.Errorf(task.Unavailable, "hush-hush").Because(cause)} {
		for err := v.scrubError(err); err != nil; err = errors.Unwrap(err) {
			require.NotContains(t, err.Error(), "hush")
		}
	}
}
