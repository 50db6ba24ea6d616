package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// form makes a form of one file.
func form(t *testing.T, field, name, content string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile(field, name)
	require.NoError(t, err)
	_, err = io.WriteString(part, content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return w.FormDataContentType(), b.String()
}

func TestUpload_refusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := newAPI(t, func(p *server.Parts) { p.Files = filesIn(t, dir) })
	formType, body := form(t, "file", "a.txt", "hello")
	_, other := form(t, "document", "a.txt", "hello")
	otherType := strings.Replace(formType, formType[strings.Index(formType, "=")+1:], other[2:strings.Index(other, "\r")], 1)
	big := strings.Repeat("x", 1<<20+1)
	bigType, bigForm := form(t, "file", "big.txt", big)
	twice := strings.Replace(body, "--\r\n", "\r\n"+body[strings.Index(body, "\r\n")+2:], 1)
	tests := map[string]struct {
		path, contentType, body string
		status                  int
		says                    string
	}{
		"no name":         {"/v1/files", "text/plain", "hello", 422, "?name: is required"},
		"no type, name":   {"/v1/files", "", "hello", 415, "multipart/form-data"},
		"long name":       {"/v1/files?name=" + strings.Repeat("x", 256), "text/plain", "hello", 422, "at most 255"},
		"control":         {"/v1/files?name=line%0Abreak.pdf", "text/plain", "hello", 422, "control characters"},
		"not UTF-8":       {"/v1/files?name=%ff", "text/plain", "hello", 422, "UTF-8"},
		"other part":      {"/v1/files", otherType, other, 422, `one part, named "file"`},
		"two parts":       {"/v1/files", formType, twice, 422, "one part"},
		"cut form":        {"/v1/files", formType, body[:len(body)-10], 400, "nothing was kept"},
		"no form":         {"/v1/files", formType, "hello", 400, "nothing was kept"},
		"no boundary":     {"/v1/files", "multipart/form-data", body, 400, "nothing was kept"},
		"too large":       {"/v1/files?name=big.txt", "text/plain", big, 413, "1048576 bytes"},
		"too large, form": {"/v1/files", bigType, bigForm, 413, "1048576 bytes"},
		"far too large":   {"/v1/files?name=big.txt", "text/plain", strings.Repeat("x", 2<<20), 413, "1048576 bytes"},
		"unknown query":   {"/v1/files?nmae=a.txt", "text/plain", "hello", 422, `did you mean "name"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := a.on(t)
			r := a.do("POST", tt.path, map[string]string{"Content-Type": tt.contentType}, tt.body)
			require.Equal(t, tt.status, r.status, string(r.body))
			require.Contains(t, r.problem(t).Detail, tt.says)
		})
	}
	require.Empty(t, filesBelow(t, dir), "a refused upload keeps nothing")
}

func filesIn(t *testing.T, dir string) storage.Files {
	t.Helper()
	bucket, err := storage.Open(t.Context(), "file://"+dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return storage.NewFiles(bucket)
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// drained counts requests that are being answered, so that a test knows when the last has ended.
func drained(next http.Handler) (http.Handler, *atomic.Int64) {
	var ended atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer ended.Add(1)
		next.ServeHTTP(w, r)
	}), &ended
}

func TestUpload_cutHalfWayKeepsNothing(t *testing.T) {
	t.Parallel()
	const clients = 200
	dir := t.TempDir()
	parts := servertest.Parts(t, servertest.NewTasks())
	parts.Files = filesIn(t, dir)
	h, err := server.New(parts)
	require.NoError(t, err)
	h, ended := drained(h)
	srv := startOn(t, h)
	contentType, body := form(t, "file", "a.txt", strings.Repeat("x", 200_000))

	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv)
			if err != nil {
				t.Error(err)
				return
			}
			length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
			if i%2 == 0 { // a body of announced length, and one in chunks
				_, _ = fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n%s\r\n%s", contentType, length, body[:len(body)/2])
			} else {
				_, _ = fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", contentType, len(body), body[:len(body)/2])
			}
			_ = conn.Close()
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return ended.Load() == clients }, 30*time.Second, 10*time.Millisecond)
	require.Empty(t, filesBelow(t, dir))
}

// TestUpload_memoryStaysFlat sends ten files of 50 MB at once and watches the heap.
func TestUpload_memoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("writes half a gigabyte")
	}
	const clients, size, most = 10, 50 << 20, 64 << 20
	dir := t.TempDir()
	parts := servertest.Parts(t, servertest.NewTasks())
	parts.Files, parts.Limits.MaxUpload = filesIn(t, dir), size
	srv := servertest.Start(t, parts)
	before, peak := heap(), uint64(0)
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(5 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			peak = max(peak, heap())
		}
	}()
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			body := io.LimitReader(endless(bytes.Repeat([]byte{byte('a' + i)}, 64<<10)), size)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("%s/v1/files?name=%d.bin", srv.URL, i), body)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusCreated {
				t.Errorf("upload %d: %s", i, resp.Status)
			}
		})
	}
	all.Wait()
	stop()
	<-watched
	t.Logf("heap before %d KiB, at most %d KiB", before>>10, peak>>10)
	require.Less(t, peak, before+most)
	require.Len(t, filesBelow(t, dir), 2*clients, "each file and its record, and no left-overs")
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// endless repeats a block for ever.
type endless []byte

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// A file name is returned unchanged, is encoded in Content-Disposition for every client, and is part of no path on disk.
func TestFiles_nonASCIINames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := newAPI(t, func(p *server.Parts) { p.Files = filesIn(t, dir) })
	for name, tt := range map[string]struct{ name, disposition string }{
		"chinese":   {"财报 2025.pdf", `attachment; filename="__ 2025.pdf"; filename*=UTF-8''%E8%B4%A2%E6%8A%A5%202025.pdf`},
		"korean":    {"한글.pdf", `attachment; filename="__.pdf"; filename*=UTF-8''%ED%95%9C%EA%B8%80.pdf`},
		"quote":     {`a"b.pdf`, `attachment; filename="a_b.pdf"; filename*=UTF-8''a%22b.pdf`},
		"climbs":    {"../../etc/x", `attachment; filename=".._.._etc_x"; filename*=UTF-8''.._.._etc_x`},
		"accents":   {"re\u0301sume\u0301.pdf", `attachment; filename="re_sume_.pdf"; filename*=UTF-8''re%CC%81sume%CC%81.pdf`},
		"percent":   {"100%.pdf", `attachment; filename="100_.pdf"; filename*=UTF-8''100%25.pdf`},
		"300 bytes": {strings.Repeat("财", 100), `attachment; filename="` + strings.Repeat("_", 100) + `"; filename*=UTF-8''` + strings.Repeat("%E8%B4%A2", 100)},
	} {
		t.Run(name, func(t *testing.T) {
			a := a.on(t)
			contentType, body := form(t, "file", tt.name, "content of "+name)
			r := a.do("POST", "/v1/files", map[string]string{"Content-Type": contentType}, body)
			require.Equal(t, http.StatusCreated, r.status, string(r.body))
			file := into[task.File](t, r)
			require.Equal(t, tt.name, file.Name)
			require.Equal(t, "/v1/files/"+file.ID, r.header.Get("Location"))
			require.Equal(t, tt.name, into[task.File](t, a.do("GET", "/v1/files/"+file.ID, nil, "")).Name)
			content := a.do("GET", "/v1/files/"+file.ID+"/content", nil, "")
			require.Equal(t, "content of "+name, string(content.body))
			require.Equal(t, tt.disposition, content.header.Get("Content-Disposition"))
			require.Equal(t, `"`+file.SHA256+`"`, content.header.Get("ETag"))
			part := a.do("GET", "/v1/files/"+file.ID+"/content", map[string]string{"Range": "bytes=0-6"}, "")
			require.Equal(t, "content", string(part.body))
			require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				require.NotContains(t, path[len(dir):], tt.name, "the name is a path on the disk")
				require.Regexp(t, `^[ -~]*$`, path[len(dir):], "the disk sees generated names only")
				return err
			}))
			require.Equal(t, http.StatusNoContent, a.do("DELETE", "/v1/files/"+file.ID, nil, "").status)
			require.Equal(t, http.StatusNotFound, a.do("GET", "/v1/files/"+file.ID, nil, "").status)
		})
	}
	r := a.do("POST", "/v1/files?name=line%0Abreak.pdf", map[string]string{"Content-Type": "text/plain"}, "x")
	require.Equal(t, http.StatusUnprocessableEntity, r.status, "a line break is refused")
}
