package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// books say which answers were on record when a worker was killed: those must never be paid for again.
type books struct{ recorded map[string]time.Time } // by the hash of the prompt: the first kill that found it there

var promptHash = regexp.MustCompile(`answer to prompt ([0-9a-f]{12})`)

// atKill looks into the ledger of a bucket, and reports how many answers are on record.
func (b *books) atKill(bucket string) (int, error) {
	if b.recorded == nil {
		b.recorded = map[string]time.Time{}
	}
	now := time.Now()
	err := filepath.WalkDir(filepath.Join(bucket, "ledger"), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // nothing yet, or a write in progress that got its name
			return nil
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".tmp" || filepath.Ext(path) == ".attrs" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range promptHash.FindAllSubmatch(text, -1) { // a journal of rows has many
			if _, known := b.recorded[string(m[1])]; !known {
				b.recorded[string(m[1])] = now
			}
		}
		return nil
	})
	return len(b.recorded), err
}

// tally is what the provider's journal says.
type tally struct {
	calls    int
	paidOver int // calls for an answer that was on record
	vanished int // calls that had been answered, but not recorded, in the moment of a kill
	again    int // calls made for a prompt that was asked before
	used     llmtest.Usage
	lost     llmtest.Usage // of vanished
}

func (b *books) tally(calls []llmtest.Call) (t tally) {
	last := map[string]llmtest.Call{}
	for _, c := range calls {
		t.calls++
		if before, repeated := last[c.Hash]; repeated {
			t.again++
			if !before.Gone {
				t.vanished++
				t.lost.Input, t.lost.Output = t.lost.Input+before.Told.Input, t.lost.Output+before.Told.Output
			}
		}
		if at, ok := b.recorded[c.Hash]; ok && c.Began.After(at) {
			t.paidOver++
		}
		last[c.Hash] = c
		t.used.Input, t.used.Output = t.used.Input+c.Told.Input, t.used.Output+c.Told.Output
	}
	return t
}

// close tells how it went, and which promise broke.
func (b *books) close(d *killDemo, done task.Task, items []task.Item) error {
	calls := d.provider.Calls()
	t := b.tally(calls)
	lost := d.documents - b.right(calls, items)
	cost := done.Usage.Cost.Amount
	journal := price(t.used) - price(t.lost)
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table)
	for _, row := range [][]string{
		{"task", string(done.Status) + ", " + string(done.Outcome)},
		{"calls made", fmt.Sprint(t.calls)},
		{"calls repeated after an answer", fmt.Sprint(t.paidOver), "promised: 0"},
		{"calls in flight at a kill, made again", fmt.Sprint(t.again), vanished(t)},
		{"items lost", fmt.Sprint(lost), "promised: 0"},
		{"kills", fmt.Sprint(d.kills)},
		{"wall time", time.Since(d.begun).Round(100 * time.Millisecond).String()},
		{"what it cost", fmt.Sprintf("%.4f USD", cost), "the provider's journal says the same" + andLost(t)},
	} {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return errors.Join(table.Flush(),
		broken(done.Outcome != task.Full, "the task ended as %s: %v", done.Status, done.Error),
		broken(t.paidOver > 0, "%d answers that were on record were paid for again", t.paidOver),
		broken(lost > 0, "%d items were lost", lost),
		broken(math.Abs(cost-journal) > 1e-9, "the task says that it cost %f, and the journal %f", cost, journal))
}

// right counts the documents whose result is the answer to what was asked about them.
func (b *books) right(calls []llmtest.Call, items []task.Item) int {
	prompts, good := map[string]string{}, map[int]bool{}
	for _, c := range calls {
		prompts[c.Hash] = c.Prompt
	}
	for _, item := range items {
		m := promptHash.FindSubmatch(item.Result)
		good[item.Index] = m != nil && strings.Contains(prompts[string(m[1])], fmt.Sprintf("Report %03d.", item.Index))
	}
	maps.DeleteFunc(good, func(_ int, right bool) bool { return !right })
	return len(good)
}

func vanished(t tally) string {
	if t.vanished == 0 {
		return ""
	}
	return fmt.Sprintf("%d of them answered in the moment of the kill, before it was on record", t.vanished)
}

// andLost tells of what nobody but the provider can know.
func andLost(t tally) string {
	if t.vanished == 0 {
		return ""
	}
	return fmt.Sprintf(", and %.4f for the %d", price(t.lost), t.vanished)
}

// price is what the calls cost at the prices of the demonstration.
func price(u llmtest.Usage) float64 { return 2.5e-6*float64(u.Input) + 10e-6*float64(u.Output) }

// broken is a promise that does not hold.
func broken(yes bool, format string, args ...any) error {
	if !yes {
		return nil
	}
	return fmt.Errorf("broken promise: "+format, args...)
}
