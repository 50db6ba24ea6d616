package tool

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/document"
	"longhaul/internal/task"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	server := site(t)
	k := newKit(t, Options{Fetcher: document.NewFetcher(document.FetchOptions{AllowPrivate: []string{hostOf(server)}})})
	d := define(t, k, task.ToolSpec{Builtin: Fetch})
	address := server.URL + "/typed?t=text/plain&b=0123456789" + escape("茶茶茶茶茶")
	for name, tt := range map[string]struct {
		arguments, want string
		truncated, bad  bool
	}{
		"all":     {``, "0123456789茶茶茶茶茶", false, false},
		"piece":   {`,"offset":8,"limit":4`, "89茶茶\n\n[Characters 8 to 12 of 15; go on with offset 12.]", true, false},
		"end":     {`,"offset":12,"limit":400`, "茶茶茶", false, false},
		"beyond":  {`,"offset":400`, "[The text has 15 characters, and none from 400 on.]", false, false},
		"nothing": {`,"limit":0`, "/limit must be at least 1", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, k, d, `{"url":"`+address+`"`+tt.arguments+`}`)
			require.Contains(t, r.Text, tt.want)
			require.Equal(t, tt.truncated, r.Truncated)
			require.Equal(t, tt.bad, r.IsError)
		})
	}
	for url, want := range map[string]string{
		server.URL + "/status?c=404":                  "404",
		server.URL + "/status?c=503":                  "It may work later",
		"http://127.0.0.2/":                           "public addresses",
		"ftp://x.example/":                            "use http or https",
		server.URL + "/typed?t=text/plain&b=":         "0 bytes",
		server.URL + "/typed?t=image/png&b=%00%01%02": "supported are",
	} {
		r := run(t, k, d, `{"url":"`+url+`"}`)
		require.True(t, r.IsError, url)
		require.Contains(t, r.Text, want)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	_, err := k.Run(ctx, d, Call{Arguments: json.RawMessage(`{"url":"` + server.URL + `/hang"}`)})
	require.ErrorIs(t, err, context.Canceled)
}
