package task

import "time"

// System describes an installation: queues, workers and throughput. Parts that could not be determined are absent.
type System struct {
	Object     string       `json:"object" enum:"system"`
	At         time.Time    `json:"at"`
	Queues     []Queue      `json:"queues,omitempty" doc:"of the whole installation"`
	Lanes      []LaneState  `json:"lanes,omitempty" doc:"the gates in front of the providers' keys, over all workers"`
	Workers    []WorkerInfo `json:"workers,omitempty" doc:"of the whole installation"`
	Kinds      []KindLoad   `json:"kinds,omitempty" doc:"your own tasks"`
	Throughput *Throughput  `json:"throughput,omitempty" doc:"your own tasks"`
	Dead       *DeadLoad    `json:"dead_letters,omitempty" doc:"your own"`
}

// Queue is a task queue of Temporal.
type Queue struct {
	Name    string  `json:"name"`
	Backlog int64   `json:"backlog" doc:"steps that wait for a worker"`
	Oldest  float64 `json:"oldest_seconds" doc:"how long the first of them has waited"`
}

// LaneState is the state of the gate in front of a provider key.
type LaneState struct {
	Provider string     `json:"provider" doc:"its name; that of the provider of videos begins with video/"`
	Open     bool       `json:"open"`
	Why      string     `json:"why,omitempty" doc:"a code, when it is closed"`
	Until    *time.Time `json:"until" doc:"when it opens again"`
	InFlight int        `json:"in_flight" doc:"calls"`
	Waiting  int        `json:"waiting" doc:"calls"`
	Limit    int        `json:"limit" doc:"calls at a time; 0 is no limit"`
}

// WorkerInfo is a worker process.
type WorkerInfo struct {
	Identity string    `json:"identity"`
	Queues   []string  `json:"queues"`
	LastSeen time.Time `json:"last_seen"`
	Used     *int      `json:"slots_used,omitempty" doc:"steps at work"`
	Free     *int      `json:"slots_free,omitempty"`
}

// KindLoad describes the tasks of a kind. The seconds are of the last hundred tasks that succeeded.
type KindLoad struct {
	Kind      string   `json:"kind"`
	Running   int64    `json:"running"`
	Succeeded int64    `json:"succeeded"`
	Failed    int64    `json:"failed"`
	P50       *float64 `json:"p50_seconds"`
	P95       *float64 `json:"p95_seconds"`
}

// Throughput is the rate of tasks that end.
type Throughput struct {
	PerMinute       float64 `json:"per_minute" doc:"over the last five minutes"`
	FailedPerMinute float64 `json:"failed_per_minute" doc:"those of them that failed"`
}

// DeadLoad is the number of dead letters.
type DeadLoad struct {
	Open      int     `json:"open" doc:"they wait for a person"`
	PerMinute float64 `json:"per_minute" doc:"of these, those of the last five minutes"`
}

// WorkerReport is a worker's report about itself, for System.
type WorkerReport struct {
	Identity string      `json:"identity"`
	At       time.Time   `json:"at"`
	Lanes    []LaneState `json:"lanes"`
}

// Stalled says since when a task has made no progress, and what it waits for.
type Stalled struct {
	Since  time.Time `json:"since"`
	Detail string    `json:"detail"`
}
