package e2e

import (
	"container/heap"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// BenchmarkBatch summarises 200 documents of one call each, 50 calls at a time. Efficiency is the shortest time in which
// 50 goroutines can make the same calls in the same order, divided by the time from the acceptance of the task to its
// end.
func BenchmarkBatch(b *testing.B) {
	for _, median := range []time.Duration{2 * time.Second, 300 * time.Millisecond} {
		b.Run(median.String(), func(b *testing.B) {
			s := newStack(b)
			s.warm()
			for b.Loop() {
				s.provider.Reset()
				latency := llmtest.Lognormal(median, 0.5, 7)
				var latencies []time.Duration
				s.provider.Handle(func(llmtest.Call) llmtest.Reply {
					latencies = append(latencies, latency())
					return llmtest.Reply{}.After(latencies[len(latencies)-1])
				})
				done := s.finish(s.submit(notes(200)))
				require.Equal(b, task.Full, done.Outcome)
				require.Equal(b, 200, s.provider.Counts().Total)
				wall, ideal := done.FinishedAt.Sub(done.CreatedAt), pool(latencies, 50)
				b.ReportMetric(ideal.Seconds()/wall.Seconds(), "efficiency")
				b.ReportMetric(wall.Seconds(), "wall-s")
				b.ReportMetric(ideal.Seconds(), "ideal-s")
				b.ReportMetric(float64(s.provider.Counts().MaxInFlight), "most-in-flight")
				calls := s.provider.Calls()
				b.ReportMetric(calls[0].Began.Sub(done.CreatedAt).Seconds(), "first-call-s")
				b.ReportMetric(calls[49].Began.Sub(done.CreatedAt).Seconds(), "all-slots-busy-s")
				b.ReportMetric(done.FinishedAt.Sub(lastEnd(calls)).Seconds(), "closing-s")
			}
		})
	}
}

func lastEnd(calls []llmtest.Call) (end time.Time) {
	for _, call := range calls {
		if call.Ended.After(end) {
			end = call.Ended
		}
	}
	return end
}

// warm runs one small task, so that no benchmark measures what happens once in a process.
func (s *stack) warm() {
	require.Equal(s.t, task.Full, s.finish(s.submit(notes(20))).Outcome)
}

// pool returns the time in which a pool of size workers makes calls of these latencies, in order.
func pool(latencies []time.Duration, size int) (end time.Duration) {
	slots := make(freeAt, size)
	for _, latency := range latencies {
		slots[0] += latency
		end = max(end, slots[0])
		heap.Fix(&slots, 0)
	}
	return end
}

// freeAt is a heap of the times at which the workers of a pool are free.
type freeAt []time.Duration

func (f freeAt) Len() int           { return len(f) }
func (f freeAt) Less(i, j int) bool { return f[i] < f[j] }
func (f freeAt) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *freeAt) Push(any)          {}
func (f *freeAt) Pop() any          { return nil }

// BenchmarkRecovery kills a worker during a batch, starts a new worker a second later, and measures the time from that
// start until every lost call has been repeated.
func BenchmarkRecovery(b *testing.B) {
	s := newStack(b)
	s.warm()
	var seconds []float64
	for b.Loop() {
		s.provider.Reset()
		s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(time.Second) })
		id := s.submit(notes(300))
		require.NoError(b, s.provider.WaitFor(s.soon(), 120))
		s.worker.kill()
		time.Sleep(time.Second)
		restarted := time.Now()
		s.worker = s.start("worker")
		require.Equal(b, task.Full, s.finish(id).Outcome)

		last := restarted
		for _, call := range s.provider.Calls() {
			if call.Attempt > 1 && call.Began.After(last) {
				last = call.Began
			}
		}
		seconds = append(seconds, last.Sub(restarted).Seconds())
		b.ReportMetric(float64(len(s.provider.Repeats())), "calls-repeated")
	}
	slices.Sort(seconds)
	b.ReportMetric(seconds[len(seconds)/2], "recovered-s")
}

// BenchmarkRateLimit summarises 900 documents, with one worker and with three, against a provider that refuses more than
// 600 requests in any minute. At a constant rate the task takes a minute and a half.
func BenchmarkRateLimit(b *testing.B) {
	benchmarkLimit(b, "LONGHAUL_LLM_REQUESTS_PER_MINUTE=600", 600, func(llmtest.Usage) int { return 1 })
}

// BenchmarkTokenLimit is BenchmarkRateLimit with a limit of 600,000 tokens in any minute and calls of 1,000 tokens.
func BenchmarkTokenLimit(b *testing.B) {
	benchmarkLimit(b, "LONGHAUL_LLM_TOKENS_PER_MINUTE=600000", 600_000, func(u llmtest.Usage) int { return u.Input + u.Output })
}

func benchmarkLimit(b *testing.B, setting string, most int, cost func(llmtest.Usage) int) {
	for _, workers := range []int{1, 3} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			s := newStack(b, setting, "LONGHAUL_LOG_LEVEL=debug")
			s.share(workers)
			for b.Loop() {
				s.provider.Reset()
				limit := &strictLimit{most: most, per: time.Minute}
				usage := llmtest.Usage{Input: 400, Output: 600}
				s.provider.Handle(limit.handle(usage, cost(usage), 500*time.Millisecond))
				done := s.finish(s.submit(notes(900)))
				require.Equal(b, task.Full, done.Outcome)
				b.ReportMetric(done.FinishedAt.Sub(done.CreatedAt).Seconds(), "wall-s")
				b.ReportMetric(float64(limit.refused), "refused")
			}
		})
	}
}
