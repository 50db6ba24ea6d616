package metrics

import "github.com/prometheus/client_golang/prometheus"

// Sample is one number that stands at the moment, such as the length of a queue.
type Sample struct {
	Name, Help string // without the prefix
	Label, Of  string // the one label, and its value; Label "" means that there is none
	Value      float64
}

// watch asks for samples when it is asked itself. What they are is not known before.
type watch struct{ look func() []Sample }

// Describe says nothing: the samples of a watch come and go.
func (w *watch) Describe(chan<- *prometheus.Desc) {}

// Collect gives the samples of the moment.
func (w *watch) Collect(out chan<- prometheus.Metric) {
	for _, s := range w.look() {
		var labels, values []string
		if s.Label != "" {
			labels, values = []string{s.Label}, []string{s.Of}
		}
		desc := prometheus.NewDesc("longhaul_"+s.Name, s.Help, labels, nil)
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, s.Value, values...)
	}
}
