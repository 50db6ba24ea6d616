package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/metrics"
)

// The number of series does not grow with the requests of clients, and no label names a tenant.
func TestMetrics_boundedPathsAndTenants(t *testing.T) {
	m := metrics.New()
	a := newAPI(t, func(p *server.Parts) {
		p.Meter, p.Metrics = m, m.Handler()
		p.Keys = map[string]string{"sk-secret-of-acme": "acme"}
	})
	ask := func(method, path string) {
		req, err := http.NewRequestWithContext(t.Context(), method, a.srv.URL+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer sk-secret-of-acme")
		answer, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	round := func(n int) {
		ask("GET", fmt.Sprintf("/v1/tasks/task_%d", n))
		ask("GET", fmt.Sprintf("/elsewhere/%d?key=sk-%d", n, n))
		ask("POST", fmt.Sprintf("/v1/tasks/%d/cancel", n))
		ask(fmt.Sprintf("NONSENSE%d", n), "/v1/tasks")
	}
	numbers := func() string { return string(a.do("GET", "/metrics", nil, "").body) }
	round(0)
	_ = numbers()
	before := numbers()
	for n := range 250 {
		round(n)
	}
	after := numbers()
	series := func(text string) int { return strings.Count(text, "longhaul_") }
	require.Equal(t, series(before), series(after))
	require.Contains(t, after, `longhaul_http_requests_total{method="GET",route="/v1/tasks/:id",status="404"} 251`)
	for _, leak := range []string{"acme", "sk-", "task_1", "elsewhere", "NONSENSE"} {
		require.NotContains(t, after, leak)
	}
	require.False(t, bytes.Contains(newAPI(t, nil).do("GET", "/openapi.json", nil, "").body, []byte("/metrics")))
	require.Equal(t, http.StatusNotFound, newAPI(t, nil).do("GET", "/metrics", nil, "").status, "it can be switched off")
}
