package e2e

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"longhaul/api/server"
	"longhaul/internal/app"
	"longhaul/internal/cluster"
	"longhaul/internal/engine"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/storage"
)

var readTasks = flag.Int("read-tasks", 500, "number of running tasks in BenchmarkStatusReads and BenchmarkListeners")

// calls counts the requests to Temporal by operation.
type calls struct {
	sdk.MetricsHandler
	mu    *sync.Mutex
	count map[string]int64
	tags  map[string]string
}

func (c calls) WithTags(tags map[string]string) sdk.MetricsHandler {
	c.tags = tags
	return c
}

func (c calls) Counter(name string) sdk.MetricsCounter {
	if name != "temporal_request" && name != "temporal_long_request" {
		return sdk.MetricsNopHandler.Counter(name)
	}
	return counted(func(n int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count[c.tags["operation"]] += n
	})
}

type counted func(int64)

func (f counted) Inc(n int64) { f(n) }

// total returns the number of requests so far, and a text with the number for each operation.
func (c calls) total() (n int64, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.count)) {
		n += c.count[name]
		text += fmt.Sprintf(" %s %d", name, c.count[name])
	}
	return n, text
}

// apiHere serves an API in the test process, so that its requests to Temporal and its memory can be measured.
func (s *stack) apiHere() (address string, asked calls) {
	asked = calls{MetricsHandler: sdk.MetricsNopHandler, mu: &sync.Mutex{}, count: map[string]int64{}}
	connection, err := cluster.Connect(cluster.Options{Address: s.temporal.Address, Metrics: asked, Log: slog.New(slog.DiscardHandler)})
	require.NoError(s.t, err)
	s.t.Cleanup(connection.Close)
	bucket, err := storage.Open(s.t.Context(), "file://"+filepath.Join(s.dir, "bucket"))
	require.NoError(s.t, err)
	tasks := engine.New(engine.Parts{Client: connection.Client, Namespace: connection.Namespace, Bucket: bucket})
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // writing the log is part of the cost of a read
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = null.Close() })
	h, err := server.New(server.Parts{
		Tasks: tasks, Files: storage.NewFiles(bucket), Kinds: app.Kinds(), Log: slog.New(slog.NewTextHandler(null, nil)), Limits: server.Limits{MaxBody: 1 << 20, MaxUpload: 1 << 20},
	})
	require.NoError(s.t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	s.t.Cleanup(func() {
		stop()
		require.NoError(s.t, <-ended)
	})
	return ln.Addr().String(), asked
}

// manyRunning starts tasks that run until the benchmark ends.
func (s *stack) manyRunning(n int) (ids []string) {
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(llmtest.Forever) })
	for range n {
		ids = append(ids, s.submit(notes(1)))
	}
	require.Eventually(s.t, func() bool {
		_, body := s.get("/v1/tasks?status=pending&limit=1")
		return strings.Contains(body, `"data":[]`)
	}, 5*time.Minute, 500*time.Millisecond)
	return ids
}

// readOnce reads a task over an open connection with little CPU time of its own.
func readOnce(conn net.Conn, in *bufio.Reader, buffer []byte, address, id string) error {
	if _, err := fmt.Fprintf(conn, "GET /v1/tasks/%s HTTP/1.1\r\nHost: %s\r\n\r\n", id, address); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			return err
		case first && !strings.HasPrefix(line, "HTTP/1.1 200"):
			return fmt.Errorf("answer %q", line)
		case line == "\r\n":
			_, err := io.ReadFull(in, buffer[:length])
			return err
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
}

// BenchmarkStatusReads reads running tasks with few and with many pollers. The number of requests to Temporal must depend
// on the tasks alone.
func BenchmarkStatusReads(b *testing.B) {
	s := newStack(b)
	ids := s.manyRunning(*readTasks)
	address, asked := s.apiHere()
	for _, pollers := range []int{1, 50, 200} {
		b.Run(fmt.Sprintf("%d", pollers), func(b *testing.B) {
			for b.Loop() {
				poll(b, address, ids, pollers, 5*time.Second) // until the API watches all tasks
				before, _ := asked.total()
				cpu := processCPU(os.Getpid())
				rate, latencies := poll(b, address, ids, pollers, 10*time.Second)
				used := processCPU(os.Getpid()) - cpu
				after, text := asked.total()
				b.ReportMetric(float64(used.Microseconds())/float64(len(latencies)), "cpu-us/read") // including the pollers
				b.Logf("requests to Temporal so far:%s", text)
				b.ReportMetric(rate, "reads/s")
				b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(latencies[len(latencies)*99/100].Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(after-before)/10, "temporal-calls/s")
			}
		})
	}
}

func poll(b *testing.B, address string, ids []string, pollers int, during time.Duration) (perSecond float64, latencies []time.Duration) {
	var all sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	for p := range pollers {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			in, buffer, mine := bufio.NewReaderSize(conn, 16<<10), make([]byte, 64<<10), []time.Duration{}
			for n := p * 7; time.Since(began) < during; n++ {
				asked := time.Now()
				if err := readOnce(conn, in, buffer, address, ids[n%len(ids)]); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(asked))
			}
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, mine...)
		})
	}
	all.Wait()
	took := time.Since(began)
	slices.Sort(latencies)
	return float64(len(latencies)) / took.Seconds(), latencies
}

// BenchmarkListeners measures a thousand listeners on one task, and one listener on each of many tasks.
func BenchmarkListeners(b *testing.B) {
	s := newStack(b)
	ids := s.manyRunning(*readTasks)
	for name, pick := range map[string]func(n int) string{
		"thousand-on-one": func(int) string { return ids[0] },
		"one-on-each":     func(n int) string { return ids[n%len(ids)] },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				address, asked := s.apiHere()
				listeners := 1000
				if name == "one-on-each" {
					listeners = len(ids)
				}
				runtime.GC()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				ctx, stop := context.WithCancel(b.Context())
				var first, all sync.WaitGroup
				var events atomic.Int64
				first.Add(listeners)
				for n := range listeners {
					all.Go(func() { countEvents(ctx, address, pick(n), &first, &events) })
				}
				first.Wait()
				time.Sleep(3 * time.Second)
				callsBefore, _ := asked.total()
				cpu := processCPU(os.Getpid())
				time.Sleep(10 * time.Second)
				used := processCPU(os.Getpid()) - cpu
				callsAfter, _ := asked.total()
				runtime.GC()
				runtime.ReadMemStats(&after)
				stop()
				all.Wait()
				b.ReportMetric(used.Seconds()/10*100, "cpu-%")
				b.ReportMetric(float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/float64(listeners)/1024, "KiB/listener")
				b.ReportMetric(float64(callsAfter-callsBefore)/10, "temporal-calls/s")
				b.ReportMetric(float64(events.Load()), "events")
			}
		})
	}
}

func countEvents(ctx context.Context, address, id string, first *sync.WaitGroup, events *atomic.Int64) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/tasks/"+id+"/events", nil)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := (&http.Transport{}).RoundTrip(req)
	if err != nil {
		first.Done()
		return
	}
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewReader(resp.Body)
	for heard := false; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if strings.HasPrefix(line, "event: ") {
			events.Add(1)
			if !heard {
				heard = true
				first.Done()
			}
		}
	}
}
