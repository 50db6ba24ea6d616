package activities

import (
	"context"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"time"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/tool"
	"longhaul/internal/video"
)

// Parts is what the activities of all kinds are built from. Each kind takes the parts that it needs.
type Parts struct {
	Call      *call.Caller
	Documents *documents.Library
	Results   *results.Store

	Bucket        *storage.Bucket
	Files         storage.Files
	Embedding     string           // the default model for vectors
	ContextTokens int              // most tokens of an agent's conversation; a longer one is compacted
	Indexes       *retrieval.Cache // of texts that are searched
	Renderer      Renderer
	Tools         Toolbox
	Kinds         Kinds
	Log           *slog.Logger
}

// Queued lists activities by the task queue that they run on.
type Queued interface {
	Queues() map[string][]any
}

// Shared returns the activities that belong to no kind.
func (p Parts) Shared() []Queued {
	return []Queued{p.Documents, p.Results, &call.Pauser{Log: p.Log}}
}

// ByQueue collects activities by task queue and name.
func ByQueue(all []Queued) map[string]map[string]any {
	queues := map[string]map[string]any{}
	for _, q := range all {
		for queue, list := range q.Queues() {
			if queues[queue] == nil {
				queues[queue] = map[string]any{}
			}
			for _, activity := range list {
				queues[queue][Name(activity)] = activity
			}
		}
	}
	return queues
}

// Name returns the name under which Temporal knows an activity: the name of its method.
func Name(activity any) string {
	full := runtime.FuncForPC(reflect.ValueOf(activity).Pointer()).Name()
	return strings.TrimSuffix(full[strings.LastIndex(full, ".")+1:], "-fm")
}

// Toolbox holds the tools of agents that need to know nothing of the task: tool.Kit.
type Toolbox interface {
	Define(ctx context.Context, specs []task.ToolSpec) ([]tool.Definition, error)
	Run(ctx context.Context, d tool.Definition, call tool.Call) (tool.Result, error)
}

// Kinds checks the inputs of tasks that other tasks start: workflows.Inputs.
type Kinds interface {
	// Prepare checks an input against its kind and fills in its defaults. Model and budget are those of the task
	// that starts it. An error of the input is a *task.Error.
	Prepare(kind string, input []byte, model string, budget float64) (Prepared, error)
	// Replay makes a task that runs another again. It always has the same id. Kept is the number of items that
	// are taken over.
	Replay(before record.Facts, input []byte, order task.ReplayOrder, kept int, now time.Time) (Replay, error)
}

// Prepared is a checked input, and what starting its task needs.
type Prepared struct {
	Input    any
	Headline string
	Model    string // that the task uses
	Steps    int    // of its kind
}

// Replay is a task that runs another again: its facts, its input and the number of its steps.
type Replay struct {
	Facts record.Facts
	Input any
	Steps int
}

// Renderer is a provider of videos, with its limits and prices.
type Renderer struct {
	Name      string // of the provider, in errors and logs
	Provider  video.Provider
	Lane      router.Gate
	Model     string        // of tasks that name none
	Timeout   time.Duration // the longest that a job may take
	Doubt     time.Duration // how long after a submit without an answer its job may still appear
	Every     time.Duration // between the first polls of a job; later ones are rarer
	Callbacks string        // address of the API that providers call when a job changes; "" for no callbacks

	PerSecond, PerJob float64 // prices; both 0 when unknown
	Currency          string
}

// LaneName is the name of the lane in metrics, apart from a model provider of the same name.
func (r Renderer) LaneName() string { return "video/" + r.Name }

// Price returns what a video of so many seconds costs; 0 when prices are unknown.
func (r Renderer) Price(seconds float64) float64 { return r.PerJob + r.PerSecond*seconds }

// Usage returns what a job used: as the provider reported, or else as asked for, in seconds.
func (r Renderer) Usage(job video.Job, asked int) task.Usage {
	seconds := job.Seconds
	if seconds == 0 {
		seconds = float64(asked)
	}
	u := task.Usage{Requests: 1, InputTokens: job.Usage.InputTokens, OutputTokens: job.Usage.OutputTokens, VideoSeconds: seconds}
	switch {
	case seconds == 0 && r.PerSecond > 0, seconds == 0 && !job.Usage.Known:
		u.UnmeteredCalls = 1
	case r.PerSecond+r.PerJob > 0:
		u.Cost = &task.Cost{Amount: r.Price(seconds), Currency: r.Currency}
	}
	return u
}
