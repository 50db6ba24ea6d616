package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
)

var cancels = flag.Int("cancels", 14, "number of tasks in TestCancel_atAnyMoment and TestCancel_whileWorkersAreKilled")

const (
	callsAtOnce = 6   // of the worker
	callTokens  = 100 // reported as the usage of every answer
)

// cancelTest runs tasks of every kind, each cancelled at a random moment, on a server that makes them continue as new
// often.
type cancelTest struct {
	*stack
	videos *videotest.Provider
	cases  []*cancelCase
}

// cancelCase is one task of a cancelTest.
type cancelCase struct {
	*cancelTest
	n           int
	after       time.Duration // between submission and cancel
	id          string
	last        task.Task
	cancelledAt time.Time // zero if the task ended before its cancel
	endedAt     time.Time // when a read first showed the end
}

func newCancelTest(t *testing.T) *cancelTest {
	s, videos := newVideoStack(t, localtemporal.Options{HistoryEvents: 60},
		fmt.Sprintf("LONGHAUL_WORKER_LLM_CONCURRENCY=%d", callsAtOnce), "LONGHAUL_LLM_EMBEDDING_MODEL=vectors")
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		return fixedUsage(call).After(time.Duration(50+hashOf(call.Hash)%200) * time.Millisecond)
	})
	return &cancelTest{stack: s, videos: videos}
}

// A task of any kind that is cancelled at any moment ends as cancelled, and no call begins after its end. Its usage is
// what the providers reported, and it counts each call that the cancel interrupted.
func TestCancel_atAnyMoment(t *testing.T) {
	m := newCancelTest(t)
	m.cancelAll()
	m.checkAll()
	var calls, told, cut int
	for _, one := range m.cases {
		c, a, u := one.checkUsage()
		calls, told, cut = calls+c, told+a, cut+u
	}
	t.Logf("%d calls: %d answered, %d interrupted by a cancel", calls, told, cut)
}

// Cancelled tasks end while workers are killed, and readers see each task go from cancelling to cancelled and never back.
func TestCancel_whileWorkersAreKilled(t *testing.T) {
	m := newCancelTest(t)
	spare := m.start("worker")
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Second):
			}
			m.worker.kill()
			m.worker, spare = spare, m.start("worker")
		}
	}()
	defer func() { close(stop); <-over }()
	m.cancelAll()
	m.checkAll()
}

// cancelAll starts and cancels the tasks.
func (ct *cancelTest) cancelAll() {
	all, ctx := errgroup.WithContext(ct.t.Context())
	all.SetLimit(callsAtOnce)
	for n := range *cancels {
		m := &cancelCase{cancelTest: ct, n: n, after: time.Duration(rand.IntN(3000)) * time.Millisecond}
		ct.cases = append(ct.cases, m)
		all.Go(func() error { return m.run(ctx) })
	}
	require.NoError(ct.t, all.Wait())
}

// run starts the task, cancels it, and reads it until it ends.
func (m *cancelCase) run(ctx context.Context) error {
	kind, input := m.input()
	m.id = m.begin(kind, input, nil)
	cancelled, states := time.Now().Add(m.after), sequence{id: m.id}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		now, err := m.client.Get(ctx, m.id)
		if err != nil {
			return err
		}
		if err := states.add(now); err != nil {
			return err
		}
		if now.Done {
			m.last, m.endedAt = now, time.Now()
			return nil
		}
		if m.cancelledAt.IsZero() && time.Now().After(cancelled) {
			m.cancelledAt = time.Now()
			if _, err := m.client.Cancel(ctx, m.id); err != nil {
				return err
			}
		}
		if err := sleepContext(ctx, 30*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("task %s of kind %s, cancelled after %s, has not ended: %+v", m.id, kind, m.after, states.last)
}
