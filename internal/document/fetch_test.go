package document

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/fakeserver"
	"longhaul/internal/task"
)

// site starts a web server on loopback and returns a Fetcher that may access it.
func site(t *testing.T, options FetchOptions) (string, *Fetcher) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/report%20one.pdf", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		fmt.Fprint(w, "%PDF")
	})
	mux.HandleFunc("/named", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", r.URL.Query().Get("d"))
		fmt.Fprint(w, r.UserAgent())
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.URL.Query().Get("c"), &code)
		w.WriteHeader(code)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("u"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/referer", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "referer:"+r.Referer()) })
	mux.HandleFunc("/hop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/hop", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(make([]byte, 3<<20))
		_ = z.Close()
	})
	mux.HandleFunc("/odd", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "br") })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "short")
	})
	mux.HandleFunc("/stall", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "some")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	options.AllowPrivate = append(options.AllowPrivate, server.Listener.Addr().String())
	return server.URL, NewFetcher(options)
}

func TestFetch(t *testing.T) {
	t.Parallel()
	base, f := site(t, FetchOptions{UserAgent: "tester"})
	named := func(header string) string { return "/named?d=" + url.QueryEscape(header) }
	tests := map[string]struct{ path, body, name string }{
		"path":             {"/report%20one.pdf", "%PDF", "report one.pdf"},
		"header":           {named(`attachment; filename="a b.txt"`), "tester", "a b.txt"},
		"UTF-8":            {named(`attachment; filename="x"; filename*=UTF-8''%E8%B4%A2%E6%8A%A5.pdf`), "tester", "财报.pdf"},
		"climbing":         {named(`attachment; filename="../../etc/x"`), "tester", "x"},
		"climbing, DOS":    {named(`attachment; filename="..\\..\\etc\\x"`), "tester", "x"},
		"control":          {named(`attachment; filename*=UTF-8''a%0Ab.txt`), "tester", "ab.txt"},
		"nothing":          {named(`attachment; filename=".."`), "tester", ""},
		"redirect":         {"/to?u=/referer", "referer:", "referer"},
		"redirect, secret": {"/to?token=hush&u=/referer", "referer:", "referer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			got, err := f.Fetch(testContext(t), base+tt.path, &out)
			require.NoError(t, err)
			require.Equal(t, tt.body, out.String())
			require.Equal(t, tt.name, got.Name)
			require.EqualValues(t, out.Len(), got.Bytes)
			require.NotContains(t, got.URL, "?")
		})
	}
	long := fileName(&http.Response{Header: http.Header{}, Request: &http.Request{URL: &url.URL{Path: "/" + strings.Repeat("茶", 300) + ".pdf"}}})
	require.LessOrEqual(t, len(long), 200)
	require.True(t, strings.HasSuffix(long, "茶.pdf"), long)
}

func TestFetchFails(t *testing.T) {
	t.Parallel()
	base, f := site(t, FetchOptions{MaxBytes: 1 << 20})
	public := strings.Replace(base, "http://", "http://user:hush@", 1)
	tests := map[string]struct {
		url       string
		code      task.Code
		detail    string
		retryable bool
	}{
		"404":                  {base + "/status?c=404&token=hush", task.FetchFailed, "404", false},
		"401":                  {base + "/status?c=401", task.FetchFailed, "401", false},
		"408":                  {base + "/status?c=408", task.FetchFailed, "408", true},
		"425":                  {base + "/status?c=425", task.FetchFailed, "425", true},
		"429":                  {base + "/status?c=429", task.FetchFailed, "429", true},
		"503":                  {base + "/status?c=503", task.FetchFailed, "503", true},
		"204":                  {base + "/status?c=204", task.FetchFailed, "204", false},
		"endless":              {base + "/hop", task.FetchFailed, "limit of 5", false},
		"too large":            {base + "/large", task.DocumentTooLarge, "1 MiB", false},
		"bomb":                 {base + "/bomb", task.DocumentTooLarge, "1 MiB", false},
		"encoding":             {base + "/odd", task.FetchFailed, "not requested", false},
		"cut":                  {base + "/cut", task.FetchFailed, "the connection was lost", true},
		"refused":              {"http://" + fakeserver.Refusing(t) + "/x?token=hush", task.FetchBlocked, "public addresses", false},
		"credentials":          {public, task.FetchBlocked, "user name", false},
		"redirect credentials": {base + "/to?u=" + url.QueryEscape(public), task.FetchBlocked, "user name", false},
		"file":                 {"file:///etc/passwd", task.FetchBlocked, "use http or https", false},
		"redirect to file":     {base + "/to?u=file:///etc/passwd", task.FetchBlocked, "use http or https", false},
		"no host":              {"http:///x", task.FetchBlocked, "no host", false},
		"no URL":               {"http://[::1/hush", task.FetchBlocked, "not a URL", false},
		"redirect inside":      {base + "/to?u=http://127.0.0.2/", task.FetchBlocked, "public addresses", false},
		"redirect to metadata": {base + "/to?u=http://169.254.169.254/latest", task.FetchBlocked, "public addresses", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := f.Fetch(testContext(t), tt.url, &bytes.Buffer{})
			require.Error(t, err)
			e := task.AsError(err)
			require.Equal(t, tt.code, e.Code, "%v", err)
			require.Contains(t, e.Detail, tt.detail)
			require.Equal(t, tt.retryable, e.Retryable)
			for cause := err; cause != nil; cause = errors.Unwrap(cause) {
				require.NotContains(t, cause.Error(), "hush")
			}
		})
	}
}

func TestFetch_connectionErrorIsRetryable(t *testing.T) {
	t.Parallel()
	address := fakeserver.Refusing(t)
	_, err := NewFetcher(FetchOptions{AllowPrivate: []string{address}}).Fetch(testContext(t), "http://"+address+"/?token=hush", &bytes.Buffer{})
	require.Equal(t, task.FetchFailed, task.AsError(err).Code)
	require.True(t, task.AsError(err).Retryable)
	require.NotContains(t, err.Error(), "hush")
}

func TestFetchStalls(t *testing.T) {
	t.Parallel()
	base, f := site(t, FetchOptions{IdleTimeout: 500 * time.Millisecond})
	_, err := f.Fetch(testContext(t), base+"/stall?token=hush", &bytes.Buffer{})
	require.Equal(t, task.FetchFailed, task.AsError(err).Code)
	require.Contains(t, task.AsError(err).Detail, "nothing for 500ms")
	require.True(t, task.AsError(err).Retryable)
	require.NotContains(t, err.Error(), "hush")
}

func TestFetch_endsWithItsContext(t *testing.T) {
	t.Parallel()
	base, f := site(t, FetchOptions{})
	ctx, cancel := context.WithCancel(testContext(t))
	_, err := f.Fetch(ctx, base+"/stall", writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
	require.ErrorIs(t, err, context.Canceled)

	base, f = site(t, FetchOptions{Timeout: 50 * time.Millisecond})
	_, err = f.Fetch(testContext(t), base+"/stall", &bytes.Buffer{})
	require.Equal(t, task.FetchFailed, task.AsError(err).Code)
	require.Contains(t, task.AsError(err).Detail, "limit of 50ms")
}

func TestFetch_writerErrorIsInternal(t *testing.T) {
	t.Parallel()
	base, f := site(t, FetchOptions{})
	full := errors.New("disk full")
	_, err := f.Fetch(testContext(t), base+"/large", writerFunc(func([]byte) (int, error) { return 0, full }))
	require.ErrorIs(t, err, full)
	require.Equal(t, task.Internal, task.AsError(err).Code)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Every spelling of a private address must be blocked before a connection is made.
func TestFetch_privateAddressesAreBlocked(t *testing.T) {
	t.Parallel()
	hits := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits <- struct{}{} }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	f := NewFetcher(FetchOptions{Timeout: 5 * time.Second})
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]",
		"127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[fe80::1%25lo]", "[64:ff9b::7f00:1]",
	} {
		for _, address := range []string{"http://" + host + ":" + port + "/", "http://" + host + "/"} {
			_, err := f.Fetch(testContext(t), address, &bytes.Buffer{})
			require.Error(t, err, address)
			require.Contains(t, []task.Code{task.FetchBlocked, task.FetchFailed}, task.AsError(err).Code)
		}
	}
	require.Empty(t, hits)
}
