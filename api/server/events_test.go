package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/task"
)

// listen opens a stream of events.
func listen(t *testing.T, address string, headers ...string) (began, *bufio.Reader) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{}).RoundTrip(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return began{resp.StatusCode, resp.Header, resp.Body.Close}, bufio.NewReader(resp.Body)
}

// began is how an answer begins, and what ends it early.
type began struct {
	status int
	header http.Header
	leave  func() error
}

// block reads up to the next empty line; "" is the end.
func block(in *bufio.Reader) string {
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// eventTask is the task of an event.
func eventTask(t *testing.T, text string) (now task.Task) {
	t.Helper()
	_, data, _ := strings.Cut(text, "data: ")
	require.NoError(t, json.Unmarshal([]byte(data), &now), text)
	return now
}

func begun(t *testing.T, change func(*server.Parts)) (*servertest.Tasks, string, task.Task) {
	t.Helper()
	tasks := servertest.NewTasks()
	parts := servertest.Parts(t, tasks)
	if change != nil {
		change(&parts)
	}
	h, err := server.New(parts)
	require.NoError(t, err)
	created, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)
	return tasks, "http://" + startOn(t, h), created
}

func progress(t *task.Task) { t.Status, t.Progress.Percent = task.Processing, new(50) }

func TestEvents_followATaskToItsEnd(t *testing.T) {
	t.Parallel()
	tasks, address, created := begun(t, nil)
	resp, in := listen(t, address+"/v1/tasks/"+created.ID+"/events")
	require.Equal(t, http.StatusOK, resp.status)
	require.Equal(t, []string{"text/event-stream", "no-store", "no"},
		[]string{resp.header.Get("Content-Type"), resp.header.Get("Cache-Control"), resp.header.Get("X-Accel-Buffering")})
	require.Equal(t, "retry: 2000\n", block(in))
	first := block(in)
	require.Contains(t, first, "id: 1\nevent: task\n")
	require.Equal(t, created.ID, eventTask(t, first).ID)
	tasks.Change(created.ID, progress)
	require.Equal(t, 50, *eventTask(t, block(in)).Progress.Percent)
	tasks.Write(created.ID, task.Text{Offset: 3, Text: "more"})
	require.Equal(t, "event: text\ndata: {\"item\":null,\"offset\":3,\"text\":\"more\"}\n", block(in))
	tasks.Succeed(created.ID, `{"n":1}`, task.Full)
	last := block(in)
	require.Contains(t, last, "id: 3\n")
	require.True(t, eventTask(t, last).Done)
	require.Equal(t, "event: end\ndata: {}\n", block(in))
	require.Empty(t, block(in), "the stream is closed")
}

func TestEvents_otherAnswers(t *testing.T) {
	t.Parallel()
	tasks := servertest.NewTasks()
	parts := servertest.Parts(t, tasks)
	parts.Keys = map[string]string{"k": "default"}
	srv := servertest.Start(t, parts)
	created, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)
	page := "/v1/tasks/" + created.ID + "/events"
	for name, test := range map[string]struct {
		path, accept, key string
		status            int
		contains          string
	}{
		"page":                {page, "application/json", "k", 200, `"object":"list","data":[{"id":"task-1"`},
		"page of nothing new": {page + "?after_revision=1", "", "k", 200, `"data":[]`},
		"no key":              {page, "text/event-stream", "", 401, "unauthorized"},
		"no task":             {"/v1/tasks/none/events", "text/event-stream", "k", 404, "not_found"},
		"all as a page":       {"/v1/events", "application/json", "k", 400, "text/event-stream"},
		"all without a key":   {"/v1/events", "text/event-stream", "", 401, "unauthorized"},
		"socket by GET":       {"/v1/tasks/" + created.ID + "/ws", "", "k", 400, "WebSocket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			headers := []string{"Accept", test.accept}
			if test.key != "" {
				headers = append(headers, "Authorization", "Bearer "+test.key)
			}
			resp, in := listen(t, srv.URL+test.path, headers...)
			text, err := io.ReadAll(in)
			require.NoError(t, err)
			require.Equal(t, test.status, resp.status, string(text))
			require.Contains(t, string(text), test.contains)
			if test.status >= 400 {
				require.Equal(t, "application/problem+json", resp.header.Get("Content-Type"))
			}
		})
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, srv.URL+page, nil)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("X-API-Key", "k")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

func TestEvents_allTasks(t *testing.T) {
	t.Parallel()
	tasks, address, first := begun(t, nil)
	_, in := listen(t, address+"/v1/events")
	block(in)
	require.Equal(t, first.ID, eventTask(t, block(in)).ID)
	second, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)
	tasks.Change(second.ID, progress)
	require.Equal(t, second.ID, eventTask(t, block(in)).ID)
}

// A stream without events stays open past the limit on other answers and through a proxy that closes idle connections, and
// the next event arrives at once. A header tells proxies not to buffer the stream.
func TestEvents_silentStreams(t *testing.T) {
	t.Parallel()
	tasks, address, created := begun(t, func(p *server.Parts) { p.Heartbeat = 100 * time.Millisecond })
	proxy := idleProxy(t, strings.TrimPrefix(address, "http://"), 2*time.Second)
	for _, way := range []string{address, "http://" + proxy} {
		resp, in := listen(t, way+"/v1/tasks/"+created.ID+"/events")
		require.Equal(t, "no", resp.header.Get("X-Accel-Buffering"))
		block(in)
		block(in)
		beats := 0
		for began := time.Now(); time.Since(began) < 4*time.Second; beats++ { // twice what the proxy bears
			require.Equal(t, ": the task goes on\n", block(in))
		}
		require.GreaterOrEqual(t, beats, 10)
		changed := time.Now()
		tasks.Change(created.ID, progress)
		for text := ""; !strings.Contains(text, "event: task"); {
			text = block(in)
			require.NotEmpty(t, text, "the stream was cut")
		}
		require.Less(t, time.Since(changed), 10*time.Second)
	}
}

// idleProxy passes bytes on, and cuts connections whose server says nothing for a while.
func idleProxy(t *testing.T, to string, idle time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() {
				defer func() { _ = client.Close(); _ = server.Close() }()
				buffer := make([]byte, 32<<10)
				for {
					_ = server.SetReadDeadline(time.Now().Add(idle))
					n, err := server.Read(buffer)
					if _, writeErr := client.Write(buffer[:n]); err != nil || writeErr != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A listener behind a proxy that keeps closing connections resumes from its last event id and sees each newer state once;
// only the end event ends the stream. An unknown event id yields the current state.
func TestEvents_reconnects(t *testing.T) {
	t.Parallel()
	tasks, address, created := begun(t, nil)
	go func() {
		for range 60 {
			tasks.Change(created.ID, progress)
			time.Sleep(10 * time.Millisecond)
		}
		tasks.Succeed(created.ID, `{}`, task.Full)
	}()
	last, cuts, ended := "", 0, false
	for !ended {
		resp, in := listen(t, address+"/v1/tasks/"+created.ID+"/events", "Last-Event-ID", last)
		for n := 0; n < 7 && !ended; n++ {
			text := block(in)
			ended = strings.Contains(text, "event: end")
			if id, found := strings.CutPrefix(text, "id: "); found {
				id, _, _ = strings.Cut(id, "\n")
				before, _ := strconv.Atoi(last)
				now, err := strconv.Atoi(id)
				require.NoError(t, err)
				require.Greater(t, now, before, "told twice, or out of order")
				last = id
			}
		}
		_ = resp.leave()
		cuts++
	}
	require.Equal(t, "62", last)
	require.Greater(t, cuts, 3)
	for _, id := range []string{"garbage", "99999", "-4", ""} {
		_, in := listen(t, address+"/v1/tasks/"+created.ID+"/events", "Last-Event-ID", id)
		block(in)
		require.Contains(t, block(in), "id: 62\n", id)
	}
	_, in := listen(t, address+"/v1/tasks/"+created.ID+"/events", "Last-Event-ID", "62")
	block(in)
	require.Contains(t, block(in), "event: end")
}

// A listener that disconnects, with or without closing its connection, is removed at once. A listener that does not read is
// dropped and delays no other listener.
func TestEvents_listenersLeave(t *testing.T) {
	tasks := servertest.NewTasks()
	parts := servertest.Parts(t, tasks)
	parts.Heartbeat = 100 * time.Millisecond
	h, err := server.New(parts)
	require.NoError(t, err)
	address := startOn(t, h)
	created, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)
	base := runtime.NumGoroutine()
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "GET /v1/tasks/%s/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", created.ID)
		require.NoError(t, err)
		return conn
	}
	var conns []net.Conn
	for range 1000 {
		conns = append(conns, dial())
	}
	require.Eventually(t, func() bool { return tasks.Listeners() == 1000 }, 30*time.Second, 10*time.Millisecond)
	for i, conn := range conns {
		if tcp, ok := conn.(*net.TCPConn); ok && i%2 == 0 {
			require.NoError(t, tcp.SetLinger(0)) // a reset
		}
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return tasks.Listeners() == 0 && runtime.NumGoroutine() <= base+5 }, 30*time.Second, 10*time.Millisecond,
		"%d listeners, %d goroutines, %d before", tasks.Listeners(), runtime.NumGoroutine(), base)

	deaf := dial()
	defer func() { _ = deaf.Close() }()
	_, in := listen(t, "http://"+address+"/v1/tasks/"+created.ID+"/events")
	block(in)
	block(in)
	large := strings.Repeat("x", 1<<20)
	for range 30 { // more than the buffers of a connection hold
		changed := time.Now()
		tasks.Change(created.ID, func(t *task.Task) { t.Progress.Message = large })
		for !strings.HasPrefix(block(in), "id: ") {
			continue
		}
		require.Less(t, time.Since(changed), 9*time.Second, "the deaf one delays the others")
	}
	require.Eventually(t, func() bool { return tasks.Listeners() == 1 }, 30*time.Second, 50*time.Millisecond, "the deaf one is dropped")
}

// serveOne serves a task that has just been created, and counts the requests that have come.
func serveOne(t *testing.T) (created task.Task, address string, arrived *atomic.Int32, stop func() error) {
	t.Helper()
	tasks := servertest.NewTasks()
	h, err := server.New(servertest.Parts(t, tasks))
	require.NoError(t, err)
	arrived = new(atomic.Int32)
	address, stop = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		h.ServeHTTP(w, r)
	}))
	created, _, err = tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)
	return created, address, arrived, stop
}

// A stop ends fifty streams at once with a retry hint, answers fifty long polls, and lets uploads finish.
func TestServe_stopEndsStreamsAndLongPolls(t *testing.T) {
	t.Parallel()
	created, address, arrived, stop := serveOne(t)
	var all sync.WaitGroup
	ends, polls, uploads := make(chan string, 50), make(chan int, 50), make(chan int, 5)
	for range 50 {
		_, in := listen(t, "http://"+address+"/v1/tasks/"+created.ID+"/events")
		block(in)
		block(in)
		all.Go(func() { rest, _ := io.ReadAll(in); ends <- string(rest) })
		all.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/tasks/"+created.ID+"?wait=60s", nil)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				polls <- 0
				return
			}
			polls <- resp.StatusCode
			_ = resp.Body.Close()
		})
	}
	var bodies []*io.PipeWriter
	for n := range 5 {
		out, body := io.Pipe()
		bodies = append(bodies, body)
		go func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%s/v1/files?name=%d.txt", address, n), out)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				uploads <- 0
				return
			}
			uploads <- resp.StatusCode
			_ = resp.Body.Close()
		}()
		_, err := body.Write([]byte("half of it, "))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return arrived.Load() == 50+50+5 }, 30*time.Second, time.Millisecond, "all are there")
	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	all.Wait()
	require.Less(t, time.Since(began), 10*time.Second, "streams and polls end at once")
	for range 50 {
		require.Regexp(t, `^retry: \d+\n\n$`, <-ends, "and no end is told, for the task has not ended")
		require.Equal(t, http.StatusOK, <-polls)
	}
	require.Empty(t, stopped, "uploads have their time")
	for _, body := range bodies {
		_, err := body.Write([]byte("and the rest"))
		require.NoError(t, err)
		require.NoError(t, body.Close())
	}
	for range bodies {
		require.Equal(t, http.StatusCreated, <-uploads)
	}
	require.NoError(t, <-stopped)
	require.Less(t, time.Since(began), 15*time.Second)
}

// openSocket opens a WebSocket as a page of an origin would.
func openSocket(t *testing.T, address, id, origin string) (conn *websocket.Conn, status int, err error) {
	t.Helper()
	conn, resp, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1)+"/v1/tasks/"+id+"/ws", //nolint:bodyclose // it is the connection
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
	if resp != nil {
		status = resp.StatusCode
	}
	return conn, status, err
}

func TestSocket(t *testing.T) {
	t.Parallel()
	tasks, address, created := begun(t, nil)
	_, status, err := openSocket(t, address, created.ID, "https://elsewhere.example")
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, status)
	conn, _, err := openSocket(t, address, created.ID, address)
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	hear := func() (m struct {
		Type   string
		Task   task.Task
		Text   string
		Offset int
		Error  task.Error
	},
	) {
		_, text, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &m))
		return m
	}
	say := func(text string) { require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text))) }
	require.Equal(t, created.ID, hear().Task.ID)
	tasks.Write(created.ID, task.Text{Offset: 2, Text: "abc"})
	require.Equal(t, "abc", hear().Text)
	tasks.Change(created.ID, func(t *task.Task) {
		t.Status, t.InputRequests = task.InputRequired, map[string]task.InputRequest{"q1": {}}
	})
	require.Equal(t, task.InputRequired, hear().Task.Status)
	say(`{"type":"input","request":"q1","action":"approve","text":"x"}`)
	require.Equal(t, task.Invalid, hear().Error.Code)
	say(`{"type":"dance"}`)
	require.Equal(t, task.Invalid, hear().Error.Code)
	say(`not JSON`)
	require.Equal(t, "error", hear().Type)
	say(`{"type":"input","request":"q1","action":"approve"}`)
	require.Equal(t, task.Processing, hear().Task.Status)
	say(`{"type":"cancel"}`)
	require.Equal(t, task.Cancelling, hear().Task.Status)
	tasks.Succeed(created.ID, `{}`, task.Full)
	require.True(t, hear().Task.Done)
	require.Equal(t, "end", hear().Type)
	_, _, err = conn.Read(t.Context())
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err))
	require.Eventually(t, func() bool { return tasks.Listeners() == 0 }, 30*time.Second, 10*time.Millisecond)
}

func TestSocket_stop(t *testing.T) {
	t.Parallel()
	created, address, _, stop := serveOne(t)
	conn, _, err := openSocket(t, "http://"+address, created.ID, "http://"+address)
	require.NoError(t, err)
	_, _, err = conn.Read(t.Context())
	require.NoError(t, err)
	go func() { _ = stop() }()
	_, _, err = conn.Read(t.Context())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err), err)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tasks := servertest.NewTasks()
	h, err := server.New(servertest.Parts(t, tasks))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		change func(*task.Task)
		want   string
	}{
		"young":     {func(*task.Task) {}, "1"},
		"old":       {func(t *task.Task) { t.CreatedAt = t.CreatedAt.Add(-time.Hour) }, "15"},
		"near":      {func(t *task.Task) { t.CreatedAt, t.Progress.ETA = t.CreatedAt.Add(-time.Hour), &task.ETA{Seconds: 8} }, "2"},
		"scheduled": {func(t *task.Task) { t.Status, t.ScheduledAt = task.Scheduled, new(time.Now().Add(time.Hour)) }, "15"},
		"ended":     {func(t *task.Task) { t.Status = task.Succeeded }, ""},
	} {
		created, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
		require.NoError(t, err)
		tasks.Change(created.ID, test.change)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/tasks/"+created.ID, &bytes.Buffer{})
		req.Host = "localhost"
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, req)
		require.Equal(t, test.want, recorder.Header().Get("Retry-After"), name)
	}
}
