package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	h.Gauge("temporal_num_pollers").Update(4)
	h.Timer("temporal_request_latency").Record(time.Second)
	text := strings.Join(scrape(t, m), "\n")
	require.Contains(t, text, `temporal_request_total{activity_type="",failure_reason="",operation="",poller_type="",task_queue="q",worker_type="",workflow_type=""} 2`)
	require.Contains(t, text, `operation="Poll",poller_type="",task_queue="q",worker_type="",workflow_type=""} 3`)
	require.Contains(t, text, "temporal_num_pollers{")
	require.Contains(t, text, "temporal_request_latency_seconds_bucket{")
	require.NotContains(t, text, "secret-namespace")
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
