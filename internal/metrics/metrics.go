package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.temporal.io/sdk/client"

	"longhaul/internal/task"
)

// other is every value of a label that is none of those that are known.
const other = "other"

// Metrics are the numbers of one process. It is safe for concurrent use; make it with New.
type Metrics struct {
	registry *prometheus.Registry
	models   []string

	requests    *prometheus.CounterVec
	requestTime *prometheus.HistogramVec
	calls       *prometheus.CounterVec
	callTime    *prometheus.HistogramVec
	tokens      *prometheus.CounterVec
	cost        *prometheus.CounterVec
	laneWait    *prometheus.HistogramVec
	workersLost prometheus.Counter
	cutOff      *prometheus.CounterVec
	stuck       *prometheus.GaugeVec
	temporal    client.MetricsHandler
}

// New makes metrics. Models are the names of those that have a number of their own.
func New(models ...string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), models: models,
		requests:    counter("http_requests_total", "Requests that were answered.", "method", "route", "status"),
		requestTime: histogram("http_request_seconds", "How long answers took, with the waits of long polls.", "method", "route"),
		calls:       counter("model_calls_total", "Calls to models that ended, by how.", "provider", "outcome"),
		callTime:    histogram("model_call_seconds", "How long calls to models took.", "provider"),
		tokens:      counter("model_tokens_total", "Tokens used, as the providers told; the wasted ones were for no answer.", "provider", "model", "sort"),
		cost:        counter("model_cost_total", "What the tokens cost, where prices are configured.", "provider", "model", "currency"),
		laneWait:    histogram("lane_wait_seconds", "How long calls waited for their turn.", "provider"),
		workersLost: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "longhaul", Name: "heartbeats_lost_total", Help: "Calls whose worker was lost: its heartbeats ended before the call did.",
		}),
		cutOff: counter("activities_cut_off_total", "Steps that did not end when they had to, and lost their slot.", "activity"),
		stuck: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "longhaul", Name: "activities_stuck", Help: "Steps without a slot that go on all the same; only a restart ends them.",
		}, []string{"activity"}),
	}
	m.temporal = newTemporal(m.registry)
	m.registry.MustRegister(m.requests, m.requestTime, m.calls, m.callTime, m.tokens, m.cost, m.laneWait, m.workersLost, m.cutOff, m.stuck,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "longhaul", Name: name, Help: help}, labels)
}

// seconds are the bounds of all histograms: from a quick answer to the longest call.
var seconds = []float64{0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600}

func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "longhaul", Name: name, Help: help, Buckets: seconds}, labels)
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Temporal returns the handler that the Temporal SDK reports its metrics to.
func (m *Metrics) Temporal() client.MetricsHandler { return m.temporal }

// Watch adds numbers that are asked for at each scrape: what stands at the moment.
func (m *Metrics) Watch(look func() []Sample) { m.registry.MustRegister(&watch{look: look}) }

// Answered counts a request. Route is its template, "" where there is none.
func (m *Metrics) Answered(method, route string, status int, took time.Duration) {
	method = known(method, []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete})
	if route == "" {
		route = other
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.requestTime.WithLabelValues(method, route).Observe(took.Seconds())
}

// Called counts a call to a model.
func (m *Metrics) Called(provider, outcome string, took time.Duration) {
	m.calls.WithLabelValues(provider, outcome).Inc()
	m.callTime.WithLabelValues(provider).Observe(took.Seconds())
}

// Used counts what a call used.
func (m *Metrics) Used(provider, model string, u task.Usage) {
	model = known(model, m.models)
	for sort, n := range map[string]int64{"input": u.InputTokens, "output": u.OutputTokens, "cached": u.CachedTokens, "wasted": u.WastedTokens} {
		if n > 0 {
			m.tokens.WithLabelValues(provider, model, sort).Add(float64(n))
		}
	}
	if u.Cost != nil && u.Cost.Amount > 0 {
		m.cost.WithLabelValues(provider, model, u.Cost.Currency).Add(u.Cost.Amount)
	}
}

// Waited counts a wait for a turn in a lane.
func (m *Metrics) Waited(provider string, d time.Duration) {
	m.laneWait.WithLabelValues(provider).Observe(d.Seconds())
}

// Lost counts calls that lost their worker.
func (m *Metrics) Lost(calls int) { m.workersLost.Add(float64(calls)) }

// CutOff counts a step that lost its slot.
func (m *Metrics) CutOff(activity string) { m.cutOff.WithLabelValues(activity).Inc() }

// Stuck counts the steps that go on without a slot.
func (m *Metrics) Stuck(activity string, change int) {
	m.stuck.WithLabelValues(activity).Add(float64(change))
}

func known(name string, all []string) string {
	if slices.Contains(all, name) {
		return name
	}
	return other
}
