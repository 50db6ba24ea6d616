package task

import "time"

// System describes an installation: queues, workers and throughput. Parts that could not be determined are absent.
type System struct {
	Object     string       `json:"object" enum:"system"`
	At         time.Time    `json:"at"`
	Queues     []Queue      `json:"queues,omitempty" doc:"queues and workers of the whole installation"`
	Lanes      []LaneState  `json:"lanes,omitempty" doc:"admission to the providers, over all workers"`
	Workers    []WorkerInfo `json:"workers,omitempty" doc:"queues and workers of the whole installation"`
	Kinds      []KindLoad   `json:"kinds,omitempty" doc:"tasks of the tenant"`
	Throughput *Throughput  `json:"throughput,omitempty" doc:"tasks of the tenant"`
	Dead       *DeadLoad    `json:"dead_letters,omitempty" doc:"dead letters of the tenant"`
}

// Queue is a task queue of Temporal.
type Queue struct {
	Name    string  `json:"name"`
	Backlog int64   `json:"backlog" doc:"number of steps that wait for a worker"`
	Oldest  float64 `json:"oldest_seconds" doc:"wait of the oldest step"`
}

// LaneState is the state of the gate in front of a provider key.
type LaneState struct {
	Provider string     `json:"provider" doc:"provider name; a video provider has the prefix video/"`
	Open     bool       `json:"open"`
	Why      string     `json:"why,omitempty" doc:"error code while closed"`
	Until    *time.Time `json:"until" doc:"when the lane opens again"`
	InFlight int        `json:"in_flight" doc:"calls"`
	Waiting  int        `json:"waiting" doc:"calls"`
	Limit    int        `json:"limit" doc:"maximum number of concurrent calls; 0 means no limit"`
}

// WorkerInfo is a worker process.
type WorkerInfo struct {
	Identity string    `json:"identity"`
	Queues   []string  `json:"queues"`
	LastSeen time.Time `json:"last_seen"`
	Used     *int      `json:"slots_used,omitempty" doc:"number of running steps"`
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
	FailedPerMinute float64 `json:"failed_per_minute" doc:"failed tasks over the last five minutes"`
}

// DeadLoad is the number of dead letters.
type DeadLoad struct {
	Open      int     `json:"open" doc:"number of open dead letters"`
	PerMinute float64 `json:"per_minute" doc:"new dead letters over the last five minutes"`
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
