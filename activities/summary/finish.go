package summary

import (
	"context"
	"fmt"
	"strings"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// FinishRequest closes the books of a task, however it ends.
type FinishRequest struct {
	Task      record.TaskRef `json:"task,omitzero"`
	Documents int            `json:"documents,omitempty"`
	Groups    int            `json:"groups,omitempty"`    // in how many the documents were shared out
	Rest      *task.Error    `json:"rest,omitempty"`      // why items without an outcome have none
	Cut       []results.Cut  `json:"cut,omitempty"`       // what such items used by then, of those that were in hand
	Digest    string         `json:"digest,omitempty"`    // ledger key of the digest; "" when there is none
	NoDigest  *task.Error    `json:"no_digest,omitempty"` // why a digest that was asked for is missing
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
func (a *Activities) FinishSummary(ctx context.Context, req FinishRequest) (results.Finished, error) {
	heart := call.StartHeartbeat(ctx, "storing")
	defer heart.Stop()
	items, err := a.unsettled(ctx, req)
	if err != nil {
		return results.Finished{}, err
	}
	finished, err := a.Results.Finalize(ctx, heart, req.Task, items)
	if err != nil || finished.Outcome == task.None {
		return finished, err
	}
	output := SummaryOutput{DigestError: req.NoDigest}
	if req.Digest != "" {
		if output.Digest, err = a.Call.Text(ctx, req.Digest); err != nil {
			return results.Finished{}, err
		}
	}
	if output.Documents, err = summaryDocuments(items); err != nil {
		return results.Finished{}, err
	}
	if req.NoDigest != nil {
		finished.Outcome = task.Partial
	}
	if err := a.Results.WriteReport(ctx, req.Task, reportName, report(output, finished.Simulated)); err != nil {
		return results.Finished{}, err
	}
	finished.Result, err = a.Results.WriteResult(ctx, req.Task, output)
	return finished, err
}

// unsettled makes every item as it is when it never came to an outcome.
func (a *Activities) unsettled(ctx context.Context, req FinishRequest) ([]task.Item, error) {
	items := make([]task.Item, 0, req.Documents)
	for group := range req.Groups {
		var p documents.Manifest
		if err := a.Bucket.GetJSON(ctx, storage.GroupKey(req.Task.ID, group), &p); err != nil {
			return nil, err
		}
		for _, work := range p.Documents {
			items = append(items, results.Unfinished(len(items), work.Label, req.Rest))
		}
	}
	for _, cut := range req.Cut {
		items[cut.Index].Usage, items[cut.Index].Attempts = cut.Usage, cut.Calls
	}
	return items, nil
}

func summaryDocuments(items []task.Item) ([]SummaryDocument, error) {
	documents := make([]SummaryDocument, len(items))
	for i, item := range items {
		result, err := results.ResultOf[SummaryResult](item)
		if err != nil {
			return nil, err
		}
		documents[i] = SummaryDocument{Index: item.Index, Name: item.Name, Status: item.Status, SummaryResult: result, Error: item.Error}
	}
	return documents, nil
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
		fmt.Fprintf(&b, "## %s\n\n", results.OneLine(name))
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
