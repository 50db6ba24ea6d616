package e2e

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

var manyRowsFlag = flag.Int("rows", 1000, "how many rows the test of killed workers has")

// slots is how many calls go on at a time while workers are killed, and aCall how long the shortest takes: far longer than an answer
// is on its way to the record.
const (
	slots = 50
	aCall = 100 * time.Millisecond
)

// DU-08: each row comes out exactly once and in its place, whatever is killed at whatever moment. No call is made again whose answer was on record, and a
// kill costs no more calls than were in hand.
func TestRows_killed(t *testing.T) {
	s := newStack(t, fmt.Sprintf("LONGHAUL_WORKER_LLM_CONCURRENCY=%d", slots))
	s.provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{}.After(aCall + rand.N(aCall))
	})
	n := *manyRowsFlag
	id := s.begin("generate", s.generate(n), nil)
	var workerKills []workerKill
	for i := range *kills {
		s.awaitAnswers(rand.IntN(2 * n / (*kills + 3)))
		if i%3 != 0 { // the worker, both, Temporal, the worker…
			s.sigkillTemporal()
		}
		if i%3 != 2 {
			workerKills = append(workerKills, s.killAndRestartWorker())
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
	s.requirePaidOnce(workerKills)
}

// awaitAnswers waits for more answers of the provider, but not for ever: a worker that is back makes itself heard when the one before is missed.
func (s *stack) awaitAnswers(more int) {
	until := s.provider.Counts().Answered + more
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	_ = s.provider.Wait(ctx, func(c llmtest.Counts) bool { return c.Answered > until })
}

// workerKill is the kill of a worker. What was on record when the next one began is known; calls before are of the one that was killed.
type workerKill struct {
	restarted time.Time
	paid      map[string][]recorded
}

// strike kills the worker and starts it again.
func (s *stack) killAndRestartWorker() (b workerKill) {
	s.worker.kill()
	b.paid, b.restarted = s.onRecord(), time.Now()
	s.worker = s.start("worker")
	return b
}

// sigkillTemporal kills Temporal. Its keeper starts it again.
func (s *stack) sigkillTemporal() {
	if pid := s.temporalPID(); pid > 0 {
		require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// recorded is an answer that a journal of rows has.
type recorded struct {
	at     time.Time // when the answer came
	opened time.Time // when the attempt opened its journal
}

// onRecord gives the answers that are on record in the bucket, by the hash of their prompt.
func (s *stack) onRecord() map[string][]recorded {
	files, err := filepath.Glob(filepath.Join(s.dir, "*", "ledger", "*", "rows", "*", "*.jsonl"))
	require.NoError(s.t, err)
	all := map[string][]recorded{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(s.t, err)
		var opened int64 // in milliseconds: how the name begins
		_, err = fmt.Sscanf(filepath.Base(file), "%d-", &opened)
		require.NoError(s.t, err)
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
				all[hash] = append(all[hash], recorded{a.At, time.UnixMilli(opened)})
			}
		}
	}
	return all
}

// requirePaidOnce looks at every call that was made again. A kill costs the call in flight of each slot, and the one before it if its answer
// was on its way to the record. An attempt that Temporal lost sight of goes on for a second or so beside the next one: what both ask is apart.
func (s *stack) requirePaidOnce(workerKills []workerKill) {
	s.t.Helper()
	paid := s.onRecord()
	by := map[string][]llmtest.Call{}
	for _, c := range s.provider.Calls() {
		by[c.Hash] = append(by[c.Hash], c)
	}
	var cut, lost, both int
	for hash, calls := range by {
		for i, again := range calls[1:] {
			for _, b := range workerKills {
				require.False(s.t, b.paid[hash] != nil && again.Began.After(b.restarted), "%q was on record when its worker was dead, and asked again", again.Prompt)
			}
			switch {
			case calls[i].Gone:
				cut++
			case sideBySide(paid[hash]):
				both++
			default:
				lost++
			}
		}
	}
	s.t.Logf("%d rows, %d kills, %d calls; made again: %d in flight at a kill, %d answered but not on record yet, %d that two attempts had in hand",
		len(by), *kills, s.provider.Counts().Total, cut, lost, both)
	require.LessOrEqual(s.t, cut+lost, 2*slots**kills, "calls that were made again")
}

// sideBySide reports whether two attempts put an answer on record, and that of the first came only when the other had begun.
func sideBySide(paid []recorded) bool {
	slices.SortFunc(paid, func(a, b recorded) int { return a.opened.Compare(b.opened) })
	return len(paid) > 1 && !paid[0].at.Before(paid[1].opened)
}
