package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

var manyRowsFlag = flag.Int("rows", 3000, "how many rows the test of killed workers has")

// Each row comes out exactly once and in its place, whatever is killed at whatever moment. No call is made again whose answer was on record, nor one
// that was answered longer before than an answer takes to the record.
func TestRows_killed(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=20")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{}.After(time.Duration(5+rand.IntN(30)) * time.Millisecond)
	})
	n := *manyRowsFlag
	id := s.begin("generate", s.generate(n), nil)
	var blows []blow
	for i := range *kills {
		before := s.provider.Counts().Answered
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_ = s.provider.Wait(ctx, func(c llmtest.Counts) bool { return c.Answered > before+rand.IntN(2*n/(*kills+3)) })
		cancel()
		if i%3 != 0 { // the worker, both, Temporal, the worker…
			s.strikeTemporal()
		}
		if i%3 != 2 {
			blows = append(blows, s.strike())
		}
	}
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%v", done.Error)
	lines := s.results(id, "results.jsonl")
	require.Len(t, lines, n)
	for i, line := range lines {
		require.Equal(t, i, line.Index)
		require.Equal(t, fmt.Sprintf("r%d", i), line.ID)
		require.Contains(t, line.Text, llmtest.Hash(fmt.Sprintf("About row %06d.", i)))
	}
	require.Len(t, s.onRecord(), n, "rows whose answer is on record")
	s.requirePaidOnce(blows)
}

// blow is the kill of a worker: it was alive before, and dead after. What was on record then is known.
type blow struct {
	before, after time.Time
	paid          map[string][]recorded
}

// strike kills the worker and starts it again.
func (s *stack) strike() (b blow) {
	b.before = time.Now()
	s.worker.kill()
	b.after, b.paid = time.Now(), s.onRecord()
	s.worker = s.start("worker")
	return b
}

// strikeTemporal kills Temporal. Its keeper starts it again.
func (s *stack) strikeTemporal() {
	if pid := s.temporalPID(); pid > 0 {
		require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// recorded is an answer that a journal of rows has.
type recorded struct {
	at     time.Time // when the answer came
	opened string    // when the attempt opened the journal, and its name: how journals are in order
}

// onRecord gives the answers that are on record in the bucket, by the hash of their prompt.
func (s *stack) onRecord() map[string][]recorded {
	files, err := filepath.Glob(filepath.Join(s.dir, "*", "ledger", "*", "rows", "*", "*.jsonl"))
	require.NoError(s.t, err)
	all := map[string][]recorded{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(s.t, err)
		opened := filepath.Base(file)[:strings.LastIndexByte(filepath.Base(file), '-')]
		for line := range strings.Lines(string(text)) {
			var l struct {
				Record struct {
					Answer *struct {
						Text string    `json:"text"`
						At   time.Time `json:"at"`
					}
				}
			}
			require.NoError(s.t, json.Unmarshal([]byte(line), &l), "%s: a write is whole or not at all", file)
			if a := l.Record.Answer; a != nil {
				hash := strings.Fields(a.Text)[4] // "The answer to prompt …"
				all[hash] = append(all[hash], recorded{a.At, opened})
			}
		}
	}
	return all
}

// toRecord is how long an answer may be on its way from the provider to the record. It takes milliseconds; on a machine that is busy with other
// things every one of the steps waits for its turn.
const toRecord = time.Second

// requirePaidOnce looks at every call that was made again.
func (s *stack) requirePaidOnce(blows []blow) {
	s.t.Helper()
	paid := s.onRecord()
	by := map[string][]llmtest.Call{}
	for _, c := range s.provider.Calls() {
		by[c.Hash] = append(by[c.Hash], c)
	}
	var inFlight, twice int
	var lost []time.Duration
	for hash, calls := range by {
		for i, again := range calls[1:] {
			for _, b := range blows {
				require.False(s.t, b.paid[hash] != nil && again.Began.After(b.before), "%q was on record when the worker was killed, and asked again", again.Prompt)
			}
			first := calls[i]
			age, struck := sinceAnswer(first, blows)
			switch {
			case first.Gone || struck && age < 0:
				inFlight++
			case len(paid[hash]) > 1:
				twice++ // by the attempt before, which Temporal had lost sight of
				s.requireOverlap(again.Prompt, paid[hash])
			default:
				require.True(s.t, struck, "%q was answered and asked again although no worker was killed", again.Prompt)
				require.Less(s.t, age, toRecord, "%q was answered so long before the worker was killed, and asked again", again.Prompt)
				lost = append(lost, age)
			}
		}
	}
	slices.Sort(lost)
	s.t.Logf("%d rows, %d kills, %d calls; made again: %d in flight at a kill, %d answered but not on record yet %v, %d that two attempts had in hand",
		len(by), *kills, s.provider.Counts().Total, inFlight, len(lost), spread(lost), twice)
}

// sinceAnswer is how long before the kill of a worker the answer to a call had left the provider, negative for one in flight; false when none was
// killed since it began.
func sinceAnswer(c llmtest.Call, blows []blow) (time.Duration, bool) {
	for _, b := range blows {
		if b.after.After(c.Began) {
			return b.before.Sub(c.Ended), true
		}
	}
	return 0, false
}

// requireOverlap holds answers to one prompt that are all on record to this: each came after the attempt that has the next one had begun.
func (s *stack) requireOverlap(prompt string, paid []recorded) {
	slices.SortFunc(paid, func(a, b recorded) int { return strings.Compare(a.opened, b.opened) })
	for i, next := range paid[1:] {
		ms, _, _ := strings.Cut(next.opened, "-")
		var opened int64
		_, err := fmt.Sscan(strings.TrimLeft(ms, "0"), &opened)
		require.NoError(s.t, err)
		require.Less(s.t, time.UnixMilli(opened).Sub(paid[i].at), toRecord, "%q was answered so long before the next attempt began, and asked again", prompt)
	}
}

// spread is the median and the greatest of what is sorted.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("(answered %s before the kill in the median, %s at most)", all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond))
}
