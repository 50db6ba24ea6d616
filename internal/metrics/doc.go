// Package metrics counts what the programs do, for Prometheus.
//
// A label has a few values that are known beforehand: the names of our routes, queues, steps and codes, and of the providers
// and models that are configured. Whatever else comes is "other". No number is kept by tenant, task, address or key, so what
// stands under /metrics says nothing about anybody, and does not grow with use.
package metrics
