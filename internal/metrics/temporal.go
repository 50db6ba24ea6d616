package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// sdkLabels are the labels of the SDK's metrics that are kept: their values come from our code or from the SDK's.
var sdkLabels = []attribute.Key{"operation", "task_queue", "worker_type", "poller_type", "workflow_type", "activity_type", "failure_reason"}

// newTemporal returns a handler whose metrics are collected with those of a registry. It panics if the registry has one already.
func newTemporal(registry *prometheus.Registry) client.MetricsHandler {
	reader, err := exporter.New(
		exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo(),
		// The default strategy drops "total" from the middle of a name, as in temporal_sticky_cache_total_forced_eviction.
		exporter.WithTranslationStrategy(otlptranslator.NoUTF8EscapingWithSuffixes),
	)
	if err != nil {
		panic(err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(sdkView), metric.WithResource(resource.Empty()))
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: provider.Meter("temporal-sdk-go"), OnError: otel.Handle, UseMonotonicCounters: true,
	})
}

// sdkView keeps sdkLabels alone, omits those without a value, and gives histograms the bounds of ours.
func sdkView(i metric.Instrument) (metric.Stream, bool) {
	s := metric.Stream{Name: i.Name, Unit: i.Unit, Description: "Reported by the Temporal SDK.", AttributeFilter: func(label attribute.KeyValue) bool {
		return slices.Contains(sdkLabels, label.Key) && label.Value.AsString() != "none" // the SDK's word for no value
	}}
	if i.Kind == metric.InstrumentKindHistogram {
		s.Aggregation = metric.AggregationExplicitBucketHistogram{Boundaries: seconds, NoMinMax: true}
	}
	return s, true
}
