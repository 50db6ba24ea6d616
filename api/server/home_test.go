package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
)

// Without keys the API answers those who call it by this machine's name, from this machine's pages.
func TestWithoutKeys_onlyAtHome(t *testing.T) {
	t.Parallel()
	open := newAPI(t, nil)
	keyed := newAPI(t, func(p *server.Parts) { p.Keys = map[string]string{"k": "acme"} })
	tests := map[string]struct {
		host, origin string
		refused      bool
	}{
		"by number":             {host: "127.0.0.1:8080"},
		"by name":               {host: "localhost"},
		"by number six":         {host: "[::1]:80"},
		"its own page":          {host: "localhost:8080", origin: "http://localhost:8080"},
		"a name pointed here":   {host: "evil.example", refused: true},
		"a name like ours":      {host: "localhost.evil.example:8080", refused: true},
		"another site's form":   {host: "localhost", origin: "https://evil.example", refused: true},
		"a page from nowhere":   {host: "localhost", origin: "null", refused: true},
		"an address not of us":  {host: "10.0.0.1", refused: true},
		"all addresses are not": {host: "0.0.0.0", refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{"GET /v1/tasks", "POST /v1/files", "GET /"} {
				status := raw(t, open, method, test.host, test.origin, "")
				require.Equal(t, test.refused, status == http.StatusForbidden, "%s: %d", method, status)
			}
			require.NotEqual(t, http.StatusForbidden, raw(t, keyed, "GET /v1/tasks", test.host, test.origin, ""), "with keys the key decides")
		})
	}
}

// A refused request is answered at once, though its body never comes, and its connection ends.
func TestRefused_isNotWaitedFor(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	for name, body := range map[string]string{"of a length": "Content-Length: 1000\r\n", "in chunks": "Transfer-Encoding: chunked\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, http.StatusForbidden, raw(t, a, "POST /v1/tasks", "evil.example", "", body))
		})
	}
}

// raw makes a request byte by byte and reads its answer to the end of the connection.
func raw(t *testing.T, a *api, method, host, origin, more string) int {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(a.srv.URL, "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	verb, path, _ := strings.Cut(method, " ")
	if origin != "" {
		more += "Origin: " + origin + "\r\n"
	}
	if !strings.Contains(more, "Length") && !strings.Contains(more, "Encoding") {
		more += "Connection: close\r\n"
	}
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", verb, path, host, more)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	_, err = io.ReadAll(answer.Body)
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "the connection must end")
	return answer.StatusCode
}
