package metrics

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// sdkLabels are the labels of the SDK that are kept: their values are names of ours, or a few of its own.
var sdkLabels = []string{"operation", "task_queue", "worker_type", "poller_type", "workflow_type", "activity_type", "failure_reason"}

// sdkMetrics turns the numbers of the Temporal SDK into ours. The SDK makes them up as it goes.
type sdkMetrics struct {
	mu         sync.Mutex
	counters   map[string]*prometheus.CounterVec
	gauges     map[string]*prometheus.GaugeVec
	histograms map[string]*prometheus.HistogramVec
}

func newSDKMetrics() *sdkMetrics {
	return &sdkMetrics{
		counters: map[string]*prometheus.CounterVec{}, gauges: map[string]*prometheus.GaugeVec{}, histograms: map[string]*prometheus.HistogramVec{},
	}
}

// Describe says nothing: the SDK has not named its numbers yet.
func (s *sdkMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect gives what there is by now.
func (s *sdkMetrics) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.counters {
		v.Collect(out)
	}
	for _, v := range s.gauges {
		v.Collect(out)
	}
	for _, v := range s.histograms {
		v.Collect(out)
	}
}

func (s *sdkMetrics) handler(tags map[string]string) *sdkHandler {
	return &sdkHandler{all: s, tags: tags}
}

// made gives the number of a name, and makes it the first time.
func made[V any](s *sdkMetrics, all map[string]V, name string, create func(name string) V) V {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := all[name]
	if !ok {
		v = create(name)
		all[name] = v
	}
	return v
}

// sdkHandler is a client.MetricsHandler with the tags that were set.
type sdkHandler struct {
	all  *sdkMetrics
	tags map[string]string
}

// WithTags adds tags.
func (h *sdkHandler) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(tags)
	for k, v := range h.tags {
		if _, set := all[k]; !set {
			all[k] = v
		}
	}
	return h.all.handler(all)
}

// Counter counts up.
func (h *sdkHandler) Counter(name string) client.MetricsCounter {
	v := made(h.all, h.all.counters, name, func(name string) *prometheus.CounterVec {
		if !strings.HasSuffix(name, "_total") {
			name += "_total"
		}
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "Of the Temporal SDK."}, sdkLabels)
	}).WithLabelValues(h.labels()...)
	return counterFunc(func(n int64) { v.Add(float64(max(n, 0))) })
}

// Gauge tells a state.
func (h *sdkHandler) Gauge(name string) client.MetricsGauge {
	v := made(h.all, h.all.gauges, name, func(name string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: "Of the Temporal SDK."}, sdkLabels)
	}).WithLabelValues(h.labels()...)
	return gaugeFunc(v.Set)
}

// Timer tells how long something took.
func (h *sdkHandler) Timer(name string) client.MetricsTimer {
	v := made(h.all, h.all.histograms, name, func(name string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name + "_seconds", Help: "Of the Temporal SDK.", Buckets: seconds}, sdkLabels)
	}).WithLabelValues(h.labels()...)
	return timerFunc(func(d time.Duration) { v.Observe(d.Seconds()) })
}

func (h *sdkHandler) labels() []string {
	values := make([]string, len(sdkLabels))
	for i, name := range sdkLabels {
		if v := h.tags[name]; v != "none" { // the SDK's word for nothing
			values[i] = v
		}
	}
	return values
}

type (
	counterFunc func(int64)
	gaugeFunc   func(float64)
	timerFunc   func(time.Duration)
)

// Inc counts.
func (f counterFunc) Inc(n int64) { f(n) }

// Update sets.
func (f gaugeFunc) Update(v float64) { f(v) }

// Record observes.
func (f timerFunc) Record(d time.Duration) { f(d) }
