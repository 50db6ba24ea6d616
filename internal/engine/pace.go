package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// What tasks are compared with: those of their kind that succeeded last here.
const (
	paceFor    = time.Minute // how long what was learned is used
	mostLearnt = 100
	leastAlike = 5 // fewer tasks tell nothing
)

// pace is how long a task took for its items.
type pace struct {
	items int
	took  float64 // seconds
}

// paces remember how long tasks of each kind took. Nobody waits for them: what is not known yet is not used.
type paces struct {
	learn func(ctx context.Context, kind string) []pace

	mu    sync.Mutex
	known map[string]*learnt
}

type learnt struct {
	at    time.Time
	paces []pace
}

func newPaces(learn func(ctx context.Context, kind string) []pace) *paces {
	return &paces{learn: learn, known: map[string]*learnt{}}
}

// of gives what is known of a kind, and has it looked up again when it is old.
func (p *paces) of(kind string) []pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.known[kind]
	if !ok {
		l = &learnt{}
		p.known[kind] = l
	}
	if time.Since(l.at) > paceFor {
		l.at = time.Now()
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patienceWithTemporal)
			defer cancel()
			found := p.learn(ctx, kind)
			p.mu.Lock()
			defer p.mu.Unlock()
			l.paces = found
		}()
	}
	return l.paces
}

// finished looks up how long the last tasks of a kind took that succeeded.
func (e *Engine) finished(ctx context.Context, kind string) (all []pace) {
	answer, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: mostLearnt,
		Query: record.AttrKind.GetName() + " = " + quote(kind) + " AND ExecutionStatus = 'Completed'",
	})
	if err != nil {
		return nil
	}
	for _, execution := range answer.GetExecutions() {
		t, ok := e.inList(execution)
		if ok && t.Done && t.StartedAt != nil && t.Progress.Counts.Total > 0 {
			all = append(all, pace{t.Progress.Counts.Total, t.FinishedAt.Sub(*t.StartedAt).Seconds()})
		}
	}
	return all
}

// eta estimates how long a task will go on, from its own speed, from tasks of its size that have ended here, or from both: the
// further it is, the more its own speed counts. There is none where there is nothing to go by.
func (p *paces) eta(t task.Task) *task.ETA {
	if t.Status != task.Processing || t.StartedAt == nil || t.Waiting != nil {
		return nil
	}
	own := bySpeed(t)
	others := byOthers(t, p.of(t.Kind), max(time.Since(*t.StartedAt), 0).Seconds())
	switch {
	case own == nil:
		return others
	case others == nil:
		return own
	}
	weight := 0.0
	if t.Progress.Percent != nil {
		weight = float64(*t.Progress.Percent) / 100
	}
	mix := func(a, b int64) int64 { return int64(math.Ceil(weight*float64(a) + (1-weight)*float64(b))) }
	return &task.ETA{Seconds: mix(own.Seconds, others.Seconds), Low: mix(own.Low, others.Low), High: mix(own.High, others.High)}
}

// bySpeed is what a task's own speed tells. Early on it may be half of that, or the double.
func bySpeed(t task.Task) *task.ETA {
	if t.Progress.ETA == nil {
		return nil
	}
	left := max(float64(t.Progress.ETA.Seconds)-max(time.Since(t.UpdatedAt), 0).Seconds(), 1)
	open := 1.0
	if t.Progress.Percent != nil {
		open = 1 - float64(*t.Progress.Percent)/100
	}
	return span(left, left*(1-open/2), left*(1+open))
}

// byOthers is what tasks of about its size tell, those from half to double its items. A task that took longer than nearly
// all of them already is not like them.
func byOthers(t task.Task, all []pace, elapsed float64) *task.ETA {
	var took []float64
	for _, p := range all {
		if total := t.Progress.Counts.Total; 2*p.items >= total && p.items <= 2*total {
			took = append(took, p.took)
		}
	}
	if len(took) < leastAlike {
		return nil
	}
	slices.Sort(took)
	at := func(share float64) float64 { return took[int(share*float64(len(took)-1)+0.5)] - elapsed }
	if at(0.9) <= 0 {
		return nil
	}
	return span(max(at(0.5), 1), max(at(0.1), 0), at(0.9))
}

func span(seconds, low, high float64) *task.ETA {
	e := &task.ETA{Seconds: int64(math.Ceil(seconds)), Low: int64(math.Floor(low)), High: int64(math.Ceil(high))}
	e.Seconds = max(e.Seconds, e.Low)
	e.High = max(e.High, e.Seconds)
	return e
}
