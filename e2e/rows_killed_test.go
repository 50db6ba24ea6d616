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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

var manyRowsFlag = flag.Int("rows", 1000, "number of rows in TestRows_killed")

// slots is the number of concurrent calls while workers are killed, and aCall the shortest latency, which is far longer
// than it takes to record an answer.
const (
	slots = 50
	aCall = 100 * time.Millisecond
)

// Each row appears in the result once and in its place, whatever is killed. No recorded answer is paid for again, and a
// kill repeats no more calls than were in hand.
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
		if i%3 != 0 { // worker, both, Temporal, worker ...
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
	require.Len(t, s.onRecord(), n, "every row has a recorded answer")
	s.requirePaidOnce(workerKills)
}

// awaitAnswers waits for more answers, for half a minute at most: with no worker left there may be none.
func (s *stack) awaitAnswers(more int) {
	until := s.provider.Counts().Answered + more
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	_ = s.provider.Wait(ctx, func(c llmtest.Counts) bool { return c.Answered > until })
}

// workerKill is the kill of a worker, and the answers recorded between its death and the start of the next worker.
type workerKill struct {
	restarted time.Time
	paid      map[string][]recorded
}

// killAndRestartWorker kills the worker and starts a new one.
func (s *stack) killAndRestartWorker() (b workerKill) {
	s.worker.kill()
	b.paid, b.restarted = s.onRecord(), time.Now()
	s.worker = s.start("worker")
	return b
}

// recorded is an answer in a journal of rows.
type recorded struct {
	at     time.Time // when the worker received the answer
	opened time.Time // when the attempt opened its journal
}

// onRecord returns the answers recorded in the bucket by prompt hash.
func (s *stack) onRecord() map[string][]recorded {
	files, err := filepath.Glob(filepath.Join(s.dir, "*", "ledger", "*", "rows", "*", "*.jsonl"))
	require.NoError(s.t, err)
	all := map[string][]recorded{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(s.t, err)
		var opened int64 // in Unix milliseconds, the first part of the file name
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
			require.NoError(s.t, json.Unmarshal([]byte(line), &l), "%s: writes are atomic", file)
			if a := l.Record.Answer; a != nil {
				hash := llmtest.Recorded([]byte(a.Text))[0]
				all[hash] = append(all[hash], recorded{a.At, time.UnixMilli(opened)})
			}
		}
	}
	return all
}

// requirePaidOnce checks every repeated call. A kill may cost each slot the call in flight and the call before it, if its
// answer was not recorded yet. Calls of two attempts that ran at the same time, because Temporal considered the first
// lost, are counted separately.
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
				require.False(s.t, b.paid[hash] != nil && again.Began.After(b.restarted), "the recorded answer to %q was paid for again", again.Prompt)
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
	s.t.Logf("%d rows, %d kills, %d calls; repeated: %d in flight at a kill, %d answered but not recorded, %d of concurrent attempts",
		len(by), *kills, s.provider.Counts().Total, cut, lost, both)
	require.LessOrEqual(s.t, cut+lost, 2*slots**kills, "repeated calls")
}

// sideBySide reports whether two attempts recorded an answer, and the second had begun before the first recorded it.
func sideBySide(paid []recorded) bool {
	slices.SortFunc(paid, func(a, b recorded) int { return a.opened.Compare(b.opened) })
	return len(paid) > 1 && !paid[0].at.Before(paid[1].opened)
}
