package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/task"
)

// BenchmarkRows generates texts for 10,000 rows with calls of 20 ms, 200 at a time. It compares the task with a pool of
// 200 goroutines that makes the same calls over the same client and stores nothing, and with asynq on Redis. Wall and CPU
// times run from the acceptance of the task to its end.
func BenchmarkRows(b *testing.B) {
	const rows, width = 10_000, 200
	s := newStack(b, fmt.Sprintf("LONGHAUL_WORKER_LLM_CONCURRENCY=%d", width))
	s.provider.Handle(brief(func(llmtest.Call) time.Duration { return 20 * time.Millisecond }))
	s.warm()
	for b.Loop() {
		s.provider.Reset()
		input := s.generate(rows)
		m := s.measure()
		done := s.finish(s.begin("generate", input, nil))
		cpu := m.since()
		require.Equal(b, task.Full, done.Outcome)
		require.Equal(b, rows, s.provider.Counts().Total)
		for i, line := range s.results(done.ID, "results.jsonl") {
			require.Equal(b, "About "+llmtest.Hash(fmt.Sprintf("About row %06d.", i)), line.Text)
		}
		wall := done.FinishedAt.Sub(done.CreatedAt)
		b.ReportMetric(rows/wall.Seconds(), "rows/s")
		b.ReportMetric(float64(s.historyEvents(done.ID))/rows, "events/row")
		each := func(d time.Duration) float64 { return d.Seconds() * 1000 / rows }
		b.ReportMetric(each(cpu.temporal), "temporal-ms/row")
		b.ReportMetric(each(cpu.worker), "worker-ms/row")
		b.ReportMetric(each(cpu.api), "api-ms/row")
		b.ReportMetric(cpu.peakMB, "worker-peak-MB")
		calls := s.provider.Calls()
		b.ReportMetric(calls[0].Began.Sub(done.CreatedAt).Seconds(), "first-call-s")
		b.ReportMetric(done.FinishedAt.Sub(lastEnd(calls)).Seconds(), "closing-s")

		own := processCPU(os.Getpid())
		plain := plainPool(b, s.provider, rows, width)
		pooled := processCPU(os.Getpid()) - own - cpu.test // without the provider, which costs the same in both
		b.ReportMetric(rows/plain.Seconds(), "pool-rows/s")
		b.ReportMetric(each(pooled), "pool-ms/row")
		b.ReportMetric(each(cpu.test), "provider-ms/row")
		b.ReportMetric(plain.Seconds()/wall.Seconds(), "of-pool-speed")
		if took, theirs, ok := asynq(b, s.provider, rows, width); ok {
			b.ReportMetric(rows/took.Seconds(), "asynq-rows/s")
			b.ReportMetric(each(theirs), "asynq-ms/row")
			b.ReportMetric(took.Seconds()/wall.Seconds(), "of-asynq-speed")
			b.ReportMetric((cpu.temporal+cpu.worker+cpu.api).Seconds()/theirs.Seconds(), "of-asynq-CPU")
		}
	}
}

// brief answers in one chunk with the hash of the prompt, so that the provider adds little to what is measured.
func brief(after func(llmtest.Call) time.Duration) func(llmtest.Call) llmtest.Reply {
	return func(c llmtest.Call) llmtest.Reply {
		events := llmtest.Stream(llmtest.Delta("About "+c.Hash, ""), llmtest.Delta("", "stop"), llmtest.UsageEvent(llmtest.Usage{Input: 10, Output: 5}), "[DONE]")
		return llmtest.Reply{Parts: [][]byte{slices.Concat(events.Parts...)}}.After(after(c))
	}
}

// plainPool makes the calls of all rows with a pool of width goroutines and returns the wall time.
func plainPool(b *testing.B, provider *llmtest.Provider, rows, width int) time.Duration {
	client, err := openai.New(openai.Config{BaseURL: provider.URL(), Key: "k"})
	require.NoError(b, err)
	texts, errs := make([]string, rows), make([]error, rows)
	next := make(chan int)
	began := time.Now()
	var all sync.WaitGroup
	for range width {
		all.Go(func() {
			for i := range next {
				message := llm.Message{Role: "user", Content: fmt.Sprintf("About row %06d.", i)}
				answer, err := client.Complete(b.Context(), llm.Request{Model: "llmtest-1", Messages: []llm.Message{message}}, nil)
				texts[i], errs[i] = answer.Text, err
			}
		})
	}
	for i := range rows {
		next <- i
	}
	close(next)
	all.Wait()
	took := time.Since(began)
	for i, text := range texts {
		require.NoError(b, errs[i])
		require.NotEmpty(b, text)
	}
	return took
}

// BenchmarkRowsEfficiency runs 2,000 calls, 50 at a time, with a median latency of 300 ms and a latency of 5 s for every
// 200th. Efficiency is the shortest time in which 50 goroutines can make the same calls in the same order, divided by the
// time of the task; pool-efficiency is the same ratio for a real pool of 50 goroutines.
func BenchmarkRowsEfficiency(b *testing.B) {
	const rows, width = 2_000, 50
	s := newStack(b, fmt.Sprintf("LONGHAUL_WORKER_LLM_CONCURRENCY=%d", width))
	s.warm()
	var latencies []time.Duration
	begin := func() {
		s.provider.Reset()
		latencies = nil
		usual := llmtest.Lognormal(300*time.Millisecond, 0.5, 7)
		s.provider.Handle(brief(func(c llmtest.Call) time.Duration {
			latency := usual()
			if c.Number%200 == 50 {
				latency = 5 * time.Second
			}
			latencies = append(latencies, latency)
			return latency
		}))
	}
	for b.Loop() {
		begin()
		done := s.finish(s.begin("generate", s.generate(rows), nil))
		require.Equal(b, task.Full, done.Outcome)
		require.Equal(b, rows, s.provider.Counts().Total)
		wall, ideal := done.FinishedAt.Sub(done.CreatedAt), pool(latencies, width)
		b.ReportMetric(ideal.Seconds()/wall.Seconds(), "efficiency")
		b.ReportMetric(wall.Seconds(), "wall-s")
		b.ReportMetric(ideal.Seconds(), "ideal-s")
		calls := s.provider.Calls()
		b.ReportMetric(calls[0].Began.Sub(done.CreatedAt).Seconds(), "first-call-s")
		b.ReportMetric(calls[width-1].Began.Sub(done.CreatedAt).Seconds(), "all-slots-busy-s")
		b.ReportMetric(done.FinishedAt.Sub(lastEnd(calls)).Seconds(), "closing-s")

		begin()
		plain := plainPool(b, s.provider, rows, width)
		b.ReportMetric(pool(latencies, width).Seconds()/plain.Seconds(), "pool-efficiency")
		b.ReportMetric(plain.Seconds()/wall.Seconds(), "of-pool-speed")
	}
}

// BenchmarkEmbed embeds 100,000 texts of 1 KB with calls of 50 ms and checks every vector. The ideal is the time that 50
// goroutines need for the calls alone.
func BenchmarkEmbed(b *testing.B) {
	const rows, width, latency = 100_000, 256, 50 * time.Millisecond
	s := newStack(b, "LONGHAUL_WORKER_LLM_CONCURRENCY=50")
	s.warm()
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(latency) })
	file := s.upload("texts.jsonl", "application/jsonl", manyTexts(rows))
	for b.Loop() {
		s.provider.Reset()
		m := s.measure()
		done := s.finish(s.begin("embed", map[string]any{"file": map[string]any{"file_id": file}, "dimensions": width, "output": "npy"}, nil))
		cpu := m.since()
		require.Equal(b, task.Full, done.Outcome)
		s.requireVectors(done.ID, rows, width)
		calls := s.provider.Counts().Total
		require.Empty(b, s.provider.Repeats())
		wall, ideal := done.FinishedAt.Sub(done.CreatedAt), pool(slices.Repeat([]time.Duration{latency}, calls), 50)
		b.ReportMetric(wall.Seconds(), "wall-s")
		b.ReportMetric(ideal.Seconds(), "ideal-s")
		b.ReportMetric(float64(calls), "calls")
		b.ReportMetric(cpu.worker.Seconds(), "worker-s")
		b.ReportMetric(cpu.temporal.Seconds(), "temporal-s")
		b.ReportMetric(cpu.test.Seconds(), "provider-s")
		b.ReportMetric(cpu.peakMB, "worker-peak-MB")
	}
}

// BenchmarkMillion embeds a million short texts and measures the memory of a worker whose file has many rows and few
// bytes.
func BenchmarkMillion(b *testing.B) {
	const rows, width = 1_000_000, 64
	s := newStack(b, "LONGHAUL_WORKER_LLM_CONCURRENCY=50")
	s.warm()
	var lines bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&lines, "{\"text\":\"Ship %07d came in at dusk.\"}\n", i)
	}
	file := s.upload("ships.jsonl", "application/jsonl", &lines)
	for b.Loop() {
		s.provider.Reset()
		m := s.measure()
		id := s.begin("embed", map[string]any{"file": map[string]any{"file_id": file}, "dimensions": width, "output": "npy"}, nil)
		done, err := s.client.Watch(b.Context(), id, func(task.Task) {})
		require.NoError(b, err)
		cpu := m.since()
		require.Equal(b, task.Full, done.Outcome, "%v", done.Error)
		require.Equal(b, rows, done.Progress.Counts.Succeeded)
		require.Empty(b, s.provider.Repeats())
		b.ReportMetric(done.FinishedAt.Sub(done.CreatedAt).Seconds(), "wall-s")
		b.ReportMetric(cpu.worker.Seconds()*1000/rows, "worker-ms/row")
		b.ReportMetric(cpu.temporal.Seconds()*1000/rows, "temporal-ms/row")
		b.ReportMetric(cpu.peakMB, "worker-peak-MB")
	}
}

// longText returns a text of 1 KB, different for each i.
func longText(i int) string {
	return fmt.Sprintf("Ship %06d came in at dusk. ", i) + strings.Repeat("The keeper lit the lamp. ", 40)[:1024-28]
}

func manyTexts(n int) *bytes.Buffer {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "{\"text\":%q}\n", longText(i))
	}
	return &b
}

// requireVectors checks every vector in the result of an embed task.
func (s *stack) requireVectors(id string, rows, width int) {
	s.t.Helper()
	_, file := s.get("/v1/tasks/" + id + "/artifacts/vectors.npy")
	header := 10 + int(binary.LittleEndian.Uint16([]byte(file[8:10])))
	require.Contains(s.t, file[:header], fmt.Sprintf("'shape': (%d, %d)", rows, width))
	require.Len(s.t, file, header+4*rows*width)
	row := make([]byte, 0, 4*width)
	for i := range rows {
		row = row[:0]
		for _, x := range llmtest.Vector(longText(i), width) {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(x))
		}
		require.Equal(s.t, string(row), file[header+i*len(row):header+(i+1)*len(row)], "vector %d", i)
	}
}
