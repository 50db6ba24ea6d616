package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// killAudit remembers which answers were recorded when a worker was killed. No call for such a prompt may begin later.
type killAudit struct {
	recorded map[string]time.Time // prompt hash to the time of the first kill at which its answer was recorded
}

// addKill reads the ledger in the bucket folder after a kill and returns the number of answers recorded so far.
func (a *killAudit) addKill(bucket string) (int, error) {
	if a.recorded == nil {
		a.recorded = map[string]time.Time{}
	}
	now := time.Now()
	err := filepath.WalkDir(filepath.Join(bucket, "ledger"), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // an empty ledger, or a temporary file that was just renamed
			return nil
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".tmp" || filepath.Ext(path) == ".attrs" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, hash := range llmtest.Recorded(text) {
			if _, known := a.recorded[hash]; !known {
				a.recorded[hash] = now
			}
		}
		return nil
	})
	return len(a.recorded), err
}

// callCounts classifies the calls in the provider's journal.
type callCounts struct {
	calls      int
	paidTwice  int // calls that began after the answer to their prompt was recorded
	repeated   int // calls for a prompt that was sent before
	unrecorded int // repeated calls whose first answer arrived but was not recorded before the kill
	used       llmtest.Usage
	lost       llmtest.Usage // part of used: the first answers of the unrecorded calls
}

func (a *killAudit) count(calls []llmtest.Call) (n callCounts) {
	latest := map[string]llmtest.Call{}
	for _, call := range calls {
		n.calls++
		if before, repeated := latest[call.Hash]; repeated {
			n.repeated++
			if !before.Gone {
				n.unrecorded++
				n.lost = plus(n.lost, before.Told)
			}
		}
		if at, ok := a.recorded[call.Hash]; ok && call.Began.After(at) {
			n.paidTwice++
		}
		latest[call.Hash] = call
		n.used = plus(n.used, call.Told)
	}
	return n
}

func plus(a, b llmtest.Usage) llmtest.Usage {
	return llmtest.Usage{Input: a.Input + b.Input, Output: a.Output + b.Output}
}

// report prints the result of the demonstration. Its error names each broken promise.
func (a *killAudit) report(d *killDemo, done task.Task, items []task.Item) error {
	calls := d.provider.Calls()
	n := a.count(calls)
	lost := d.documents - correctItems(calls, items)
	cost := done.Usage.Cost.Amount
	journal := price(n.used) - price(n.lost)
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table)
	for _, row := range [][]string{
		{"task", string(done.Status) + ", " + string(done.Outcome)},
		{"calls made", fmt.Sprint(n.calls)},
		{"calls repeated after an answer", fmt.Sprint(n.paidTwice), "promised: 0"},
		{"calls in flight at a kill, made again", fmt.Sprint(n.repeated), unrecordedNote(n)},
		{"items lost", fmt.Sprint(lost), "promised: 0"},
		{"kills", fmt.Sprint(d.kills)},
		{"wall time", time.Since(d.begun).Round(100 * time.Millisecond).String()},
		{"what it cost", fmt.Sprintf("%.4f USD", cost), "the provider's journal says the same" + lostCostNote(n)},
	} {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return errors.Join(table.Flush(),
		brokenPromise(done.Outcome != task.Full, "the task ended as %s: %v", done.Status, done.Error),
		brokenPromise(n.paidTwice > 0, "%d recorded answers were paid for again", n.paidTwice),
		brokenPromise(lost > 0, "%d items were lost", lost),
		brokenPromise(math.Abs(cost-journal) > 1e-9, "the task reports a cost of %f, the journal %f", cost, journal))
}

// correctItems counts the documents whose result is the answer to a prompt about the same document.
func correctItems(calls []llmtest.Call, items []task.Item) int {
	prompts, correct := map[string]string{}, map[int]bool{}
	for _, call := range calls {
		prompts[call.Hash] = call.Prompt
	}
	for _, item := range items {
		hashes := llmtest.Recorded(item.Result)
		if len(hashes) > 0 && strings.Contains(prompts[hashes[0]], documentName(item.Index)) {
			correct[item.Index] = true
		}
	}
	return len(correct)
}

func unrecordedNote(n callCounts) string {
	if n.unrecorded == 0 {
		return ""
	}
	return fmt.Sprintf("%d of them answered at the moment of the kill, before the answer was recorded", n.unrecorded)
}

// lostCostNote gives the cost of answers that only the provider knows of.
func lostCostNote(n callCounts) string {
	if n.unrecorded == 0 {
		return ""
	}
	return fmt.Sprintf(", and %.4f for the %d", price(n.lost), n.unrecorded)
}

// price is the cost of the calls in USD at the prices configured by killDemo.open.
func price(u llmtest.Usage) float64 { return 2.5e-6*float64(u.Input) + 10e-6*float64(u.Output) }

// brokenPromise returns an error if the condition holds.
func brokenPromise(broken bool, format string, args ...any) error {
	if !broken {
		return nil
	}
	return fmt.Errorf("broken promise: "+format, args...)
}
