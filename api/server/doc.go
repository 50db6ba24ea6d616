// Package server is the HTTP API: routes, request bodies, answers, problems, and the pages.
//
// It turns requests into the words of package task and calls what Parts holds. It never sees
// Temporal, a model or a bucket's keys; it keeps no state that a restart would lose; and it never
// starts work that ends with the request. Every error leaves through problem.go.
package server
