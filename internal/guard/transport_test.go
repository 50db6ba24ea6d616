package guard

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/fakeserver"
)

// TestReason breaks connections in each way there is; no reason tells the address.
func TestReason(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = nil
	for name, test := range map[string]struct{ address, want string }{
		"no such name":   {"http://nowhere.invalid/", "its name cannot be resolved"},
		"nobody there":   {"http://" + fakeserver.Refusing(t) + "/", "it refused the connection"},
		"certificate":    {secure.URL, "its certificate, or its TLS, is not acceptable"},
		"no TLS":         {"https://" + speaks(t, "HTTP/1.1 400 Bad Request\r\n\r\n") + "/", "its certificate, or its TLS, is not acceptable"},
		"hangs up":       {"http://" + speaks(t, "") + "/", "the connection was lost"},
		"half an answer": {"http://" + speaks(t, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf") + "/", "the connection was lost"},
		"silence":        {"http://" + silent(t) + "/", "it did not answer in time"},
		"no HTTP":        {"http://" + speaks(t, "SSH-2.0-server\r\n\r\n") + "/", "the connection failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport := Transport([]string{"127.0.0.0/8"})
			t.Cleanup(transport.CloseIdleConnections)
			client := http.Client{Transport: transport}
			if strings.Contains(test.want, "in time") {
				client.Timeout = 100 * time.Millisecond
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.address, http.NoBody)
			require.NoError(t, err)
			resp, err := client.Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			require.Equal(t, test.want, Reason(err), "%v", err)
		})
	}
}

// speaks is an address that says one thing to everybody, once it was asked, and hangs up.
func speaks(t *testing.T, text string) string {
	t.Helper()
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// silent is an address at which a connection comes to nothing.
func silent(t *testing.T) string { t.Helper(); return listen(t).Addr().String() }

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}
