package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// scrape gives the lines of all numbers.
func scrape(t *testing.T, m *Metrics) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, w.Code, string(text))
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestMetrics_boundedModelsAndMethods(t *testing.T) {
	t.Parallel()
	m := New("known")
	count := func(n int) {
		m.Answered(fmt.Sprintf("METHOD%d", n), "", 404, time.Millisecond)
		m.Used("p", fmt.Sprintf("model-%d", n), task.Usage{InputTokens: 1, OutputTokens: 2, Cost: &task.Cost{Amount: 0.5, Currency: "EUR"}})
	}
	count(0)
	m.Used("p", "known", task.Usage{InputTokens: 7})
	before := len(scrape(t, m))
	for n := range 10_000 {
		count(n)
	}
	after := scrape(t, m)
	require.Len(t, after, before)
	require.Contains(t, after, `longhaul_model_tokens_total{model="known",provider="p",sort="input"} 7`)
	require.Contains(t, after, `longhaul_model_tokens_total{model="other",provider="p",sort="output"} 20002`)
	require.Contains(t, after, `longhaul_model_cost_total{currency="EUR",model="other",provider="p"} 5000.5`)
	require.Contains(t, after, `longhaul_http_requests_total{method="other",route="other",status="404"} 10001`)
}

func TestTemporal(t *testing.T) {
	t.Parallel()
	m := New()
	h := m.Temporal().WithTags(map[string]string{"namespace": "secret-namespace", "task_queue": "q", "operation": "none"})
	h.Counter("temporal_request").Inc(2)
	h.WithTags(map[string]string{"operation": "Poll"}).Counter("temporal_request").Inc(3)
	h.Counter("temporal_local_activity_total").Inc(1)
	h.Counter("temporal_sticky_cache_total_forced_eviction").Inc(1)
	h.Gauge("temporal_num_pollers").Update(4)
	h.Timer("temporal_request_latency").Record(time.Second)
	lines := scrape(t, m)
	for _, want := range []string{
		`temporal_request_total{task_queue="q"} 2`, `temporal_request_total{operation="Poll",task_queue="q"} 3`, `temporal_local_activity_total{task_queue="q"} 1`,
		`temporal_sticky_cache_total_forced_eviction_total{task_queue="q"} 1`, `temporal_num_pollers{task_queue="q"} 4`,
		`temporal_request_latency_seconds_bucket{task_queue="q",le="0.5"} 0`, `temporal_request_latency_seconds_bucket{task_queue="q",le="2"} 1`,
		`temporal_request_latency_seconds_sum{task_queue="q"} 1`,
	} {
		require.Contains(t, lines, want)
	}
	require.NotContains(t, strings.Join(lines, "\n"), "secret-namespace")
}

// TestTemporal_labelsAreBounded: whatever the SDK puts into a label, a metric has at most 2000 series.
func TestTemporal_labelsAreBounded(t *testing.T) {
	t.Parallel()
	m := New()
	for n := range 5000 {
		m.Temporal().WithTags(map[string]string{"activity_type": fmt.Sprint(n)}).Counter("temporal_request").Inc(1)
	}
	series := slices.DeleteFunc(scrape(t, m), func(line string) bool { return !strings.HasPrefix(line, "temporal_request_total") })
	require.LessOrEqual(t, len(series), 2000)
	require.Contains(t, series, `temporal_request_total{otel_metric_overflow="true"} 3001`)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	m := New()
	m.Watch(func() []Sample {
		return []Sample{{Name: "queue_backlog", Help: "h", Label: "queue", Of: "q", Value: 3}, {Name: "tasks_blocked", Help: "h", Value: 1}}
	})
	text := scrape(t, m)
	require.Contains(t, text, `longhaul_queue_backlog{queue="q"} 3`)
	require.Contains(t, text, `longhaul_tasks_blocked 1`)
}
