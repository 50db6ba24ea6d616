package activities

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// FinishRequest closes the books of a task, however it ends.
type FinishRequest struct {
	Task      Task
	Documents int
	Groups    int         // in how many the documents were shared out
	Rest      *task.Error // why items without an outcome have none
	Cut       []Cut       // what such items used by then, of those that were in hand
	Digest    string      // ledger key of the digest; "" when there is none
	NoDigest  *task.Error // why a digest that was asked for is missing
}

// Finished is what a task came to.
type Finished struct {
	Counts    task.Counts
	Outcome   task.Outcome
	Simulated bool
	First     *task.Error // the error of the first item that failed
	Result    *Stored     // nil when there is nothing to show
}

// Cut is what an item used before it was cut off.
type Cut struct {
	Index int
	Usage task.Usage
	Calls int
}

// Stored describes a result in the bucket.
type Stored struct {
	Bytes  int64
	SHA256 string
}

// SummaryOutput is the result of a summary task.
type SummaryOutput struct {
	Digest      string            `json:"digest,omitempty"`
	DigestError *task.Error       `json:"digest_error,omitempty"`
	Documents   []SummaryDocument `json:"documents"`
}

// SummaryDocument is one document of the result.
type SummaryDocument struct {
	Index  int             `json:"index"`
	Name   string          `json:"name"`
	Status task.ItemStatus `json:"status"`
	*SummaryResult
	Error *task.Error `json:"error,omitempty"`
}

// reportName is the artifact for people; the result is the one for programs.
const reportName = "summary.md"

// FinishSummary writes the list of items, the result and the report of a summary task. Items that
// have no outcome yet get one: a task that ends leaves none open. Run again it writes the same.
func (a *Activities) FinishSummary(ctx context.Context, req FinishRequest) (Finished, error) {
	heart := startHeart(ctx, "storing")
	defer heart.Stop()
	items, err := a.unsettled(ctx, req)
	if err != nil {
		return Finished{}, err
	}
	finished, err := a.closeItems(ctx, heart, req.Task, items)
	if err != nil || finished.Outcome == task.None {
		return finished, err
	}
	output := SummaryOutput{DigestError: req.NoDigest}
	if req.Digest != "" {
		if output.Digest, err = a.text(ctx, req.Digest); err != nil {
			return Finished{}, err
		}
	}
	if output.Documents, err = summaryDocuments(items); err != nil {
		return Finished{}, err
	}
	if req.NoDigest != nil {
		finished.Outcome = task.Partial
	}
	if err := a.storeReport(ctx, req.Task, reportName, report(output, finished.Simulated)); err != nil {
		return Finished{}, err
	}
	finished.Result, err = a.storeResult(ctx, req.Task, output)
	return finished, err
}

// closeItems puts the records of items in the place of what they are without, writes the list of them, and counts.
func (a *Activities) closeItems(ctx context.Context, heart *heart, t Task, items []task.Item) (Finished, error) {
	if err := a.settle(ctx, heart, t, items); err != nil {
		return Finished{}, err
	}
	return tally(items), a.storeItems(ctx, t, items)
}

// settle reads every item's record; those that have none stay as they are.
func (a *Activities) settle(ctx context.Context, heart *heart, t Task, items []task.Item) error {
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i := range items {
		g.Go(func() error {
			item, err := a.item(ctx, t, i)
			if err == nil {
				items[i] = item
			}
			heart.note(func(b *Beat) { b.Done, b.Total = int(done.Add(1)), len(items) })
			if errors.Is(err, storage.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

// unsettled makes every item as it is when it never came to an outcome.
func (a *Activities) unsettled(ctx context.Context, req FinishRequest) ([]task.Item, error) {
	items := make([]task.Item, 0, req.Documents)
	for group := range req.Groups {
		var p groupPaper
		if err := a.Bucket.GetJSON(ctx, storage.GroupKey(req.Task.ID, group), &p); err != nil {
			return nil, err
		}
		for _, work := range p.Documents {
			items = append(items, open(len(items), work.Label, req.Rest))
		}
	}
	for _, cut := range req.Cut {
		items[cut.Index].Usage, items[cut.Index].Attempts = cut.Usage, cut.Calls
	}
	return items, nil
}

func open(index int, name string, why *task.Error) task.Item {
	item := task.Item{ID: strconv.Itoa(index), Index: index, Name: name, Status: task.ItemFailed, Error: why}
	switch {
	case why == nil:
		item.Error = task.Errorf(task.Internal, "the item was lost; run the task again")
	case why.Code == task.TaskCancelled:
		item.Status = task.ItemCancelled
	}
	return item
}

func (a *Activities) storeItems(ctx context.Context, t Task, items []task.Item) error {
	text, err := lines(items)
	if err != nil {
		return err
	}
	return a.Bucket.Put(ctx, storage.ItemsKey(t.ID), linesType, text)
}

const linesType = "application/jsonl"

// lines is a list as JSON, one of it a line.
func lines[T any](list []T) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, one := range list {
		if err := encoder.Encode(one); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

func tally(items []task.Item) Finished {
	f := Finished{Outcome: task.Full, Counts: task.Counts{Total: len(items)}}
	for _, item := range items {
		f.Simulated = f.Simulated || item.Simulated
		switch item.Status {
		case task.ItemSucceeded:
			f.Counts.Succeeded++
		case task.ItemCancelled:
			f.Counts.Cancelled++
		default:
			f.Counts.Failed++
			if f.First == nil {
				f.First = item.Error
			}
		}
	}
	switch f.Counts.Succeeded {
	case 0: // also of a task that was stopped before its documents were shared out
		f.Outcome = task.None
	case len(items):
	default:
		f.Outcome = task.Partial
	}
	return f
}

func summaryDocuments(items []task.Item) ([]SummaryDocument, error) {
	documents := make([]SummaryDocument, len(items))
	for i, item := range items {
		result, err := resultOf[SummaryResult](item)
		if err != nil {
			return nil, err
		}
		documents[i] = SummaryDocument{Index: item.Index, Name: item.Name, Status: item.Status, SummaryResult: result, Error: item.Error}
	}
	return documents, nil
}

// storeResult keeps what a task came to, for programs.
func (a *Activities) storeResult(ctx context.Context, t Task, output any) (*Stored, error) {
	encoded, err := json.Marshal(output)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(encoded)
	stored := &Stored{Bytes: int64(len(encoded)), SHA256: hex.EncodeToString(sum[:])}
	return stored, a.Bucket.Put(ctx, storage.ResultKey(t.ID), "application/json", encoded)
}

const markdownType = "text/markdown; charset=utf-8"

// storeReport keeps what a task came to, for people: an artifact in Markdown.
func (a *Activities) storeReport(ctx context.Context, t Task, name, text string) error {
	return a.Bucket.Put(ctx, storage.ArtifactKey(t.ID, name), markdownType, []byte(text))
}

// report is the result as a person reads it.
func report(output SummaryOutput, simulated bool) string {
	var b strings.Builder
	b.WriteString("# Summaries\n\n")
	if simulated {
		b.WriteString("> Written by the simulated model: sentences picked from the texts, not a language model's work.\n\n")
	}
	if output.Digest != "" {
		fmt.Fprintf(&b, "## Over all documents\n\n%s\n\n", output.Digest)
	}
	if output.DigestError != nil {
		fmt.Fprintf(&b, "## Over all documents\n\nMissing: %s\n\n", output.DigestError.Detail)
	}
	for _, d := range output.Documents {
		name := d.Name
		if name == "" {
			name = fmt.Sprintf("document %d", d.Index+1)
		}
		fmt.Fprintf(&b, "## %s\n\n", oneLine(name))
		switch {
		case d.SummaryResult != nil:
			fmt.Fprintf(&b, "%s\n\n", d.Summary)
			for _, missing := range d.Missing {
				fmt.Fprintf(&b, "- Not covered: %s\n", missing)
			}
		case d.Error != nil:
			fmt.Fprintf(&b, "No summary: %s\n\n", d.Error.Detail)
		}
	}
	return b.String()
}
