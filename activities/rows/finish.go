package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/rows"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// RowsFinish closes the books of a task over rows, however it ends.
type RowsFinish struct {
	RowsJob
	Rest      *task.Error `json:"rest,omitempty"` // why rows without an outcome have none
	StartedAt time.Time   `json:"started_at,omitzero"`
}

// RowsReceipt is the result of a task over rows: what was done and what it cost. The results themselves are a file.
type RowsReceipt struct {
	Rows      int        `json:"rows"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
	Cancelled int        `json:"cancelled"`           // left without an outcome
	Copies    int        `json:"copies"`              // rows with the text of an earlier one, which cost nothing
	Calls     int        `json:"calls"`               // made for them, the failed ones included
	Saved     int        `json:"saved"`               // calls fewer than if no rows had shared one
	Model     string     `json:"model"`               // that was asked for
	Simulated bool       `json:"simulated,omitempty"` // no model was asked: the answers are made up
	Usage     task.Usage `json:"usage"`
	Seconds   float64    `json:"seconds"`
	Output    string     `json:"output,omitempty"` // artifact: the results in the order of the input
	Errors    string     `json:"errors,omitempty"` // artifact: the rows without a result, with their lines
}

// rowsErrors is the artifact that lists the rows without a result.
const rowsErrors = "errors.jsonl"

// FinishRows writes the files of results and of errors, in the order of the input, and the receipt. It holds some shards at a time. Run
// again it writes the same.
func (a *Activities) FinishRows(ctx context.Context, req RowsFinish) (results.Finished, error) {
	heart := call.StartHeartbeat(ctx, "writing the results")
	defer heart.Stop()
	books, err := openResults(ctx, a.Bucket, req.RowsJob)
	if _, wrong := errors.AsType[*task.Error](err); wrong || errors.Is(err, storage.ErrNotFound) {
		return results.Finished{Outcome: task.None}, nil // it ended before the rows were checked
	}
	if err != nil {
		return results.Finished{}, err
	}
	if err := books.close(ctx); err != nil {
		return results.Finished{}, err
	}
	c := &finalizing{Activities: a, results: books, rest: req.Rest, heart: heart}
	if err := c.write(ctx); err != nil {
		if told, ok := errors.AsType[*task.Error](err); ok { // trying again would come to the same
			return results.Finished{}, call.Final(told, record.CallState{})
		}
		return results.Finished{}, err
	}
	c.receipt.Seconds = max(time.Since(req.StartedAt), 0).Round(time.Millisecond).Seconds()
	c.finished.Result, err = a.Results.WriteResult(ctx, req.Task, c.receipt)
	return c.finished, err
}

// rowsClosing is the closing of the books.
type finalizing struct {
	*Activities
	results  *rowResults
	rest     *task.Error
	heart    *call.Heartbeat
	receipt  RowsReceipt
	finished results.Finished
}

// write goes through all rows once, and sorts them into the two files.
func (c *finalizing) write(ctx context.Context) error {
	id, p := c.results.job.Task.ID, c.results.manifest
	c.receipt = RowsReceipt{Rows: p.Rows, Copies: p.Same, Model: p.Model}
	name, contentType := c.results.work.output()
	err := c.Bucket.PutFrom(ctx, storage.ArtifactKey(id, name), contentType, func(outcomes io.Writer) error {
		out := c.results.work.open(outcomes, p.Rows)
		return c.Bucket.PutFrom(ctx, storage.ArtifactKey(id, rowsErrors), results.JSONLinesType, func(failures io.Writer) error {
			bad := rows.NewJSONLines(failures)
			if err := c.each(ctx, out, bad); err != nil {
				return err
			}
			return errors.Join(out.Close(), bad.Close())
		})
	})
	if err != nil {
		return err
	}
	r := &c.receipt
	c.finished.Counts = task.Counts{Total: r.Rows, Succeeded: r.Succeeded, Failed: r.Failed, Cancelled: r.Cancelled}
	c.finished.Outcome = task.Partial
	switch r.Succeeded {
	case 0:
		c.finished.Outcome = task.None
	case r.Rows:
		c.finished.Outcome = task.Full
	}
	r.Output, r.Errors = name, rowsErrors
	r.Saved, c.finished.Usage = max(r.Saved, 0), &r.Usage
	r.Simulated = c.finished.Simulated
	return nil
}

func (c *finalizing) each(ctx context.Context, out, bad rows.Output) error {
	for v, err := range c.results.each(ctx) {
		if err != nil {
			return err
		}
		for i := range v.rows {
			if err := c.one(ctx, v, i, out, bad); err != nil {
				return err
			}
		}
		saved, err := v.saved(v.calls)
		if err != nil {
			return err
		}
		c.receipt.Saved += saved
		c.heart.Update(func(b *record.Heartbeat) { b.Done, b.Total = v.shard.To, c.results.manifest.Rows })
	}
	return nil
}

// one writes a row into the file of results, and into that of errors if it has none.
func (c *finalizing) one(ctx context.Context, v *shardView, i int, out, bad rows.Output) error {
	item, result, err := c.results.outcome(ctx, v, i)
	if err != nil {
		return err
	}
	if item.Status == task.ItemPending {
		rest := results.Unfinished(item.Index, item.Name, c.rest)
		item.Status, item.Error = rest.Status, rest.Error
	}
	c.count(item)
	line := rows.Result{Index: item.Index, ID: item.Name, Values: map[string]any{"status": string(item.Status)}}
	if result != nil {
		maps.Copy(line.Values, result.values())
		line.Vector = result.vector()
		return out.Row(line)
	}
	line.Values["error"] = fmt.Sprintf("%s: %s", item.Error.Code, item.Error.Detail)
	return errors.Join(out.Row(line), bad.Row(line))
}

func (c *finalizing) count(item task.Item) {
	r, f := &c.receipt, &c.finished
	r.Calls += item.Attempts
	r.Usage, f.Simulated = r.Usage.Add(item.Usage), f.Simulated || item.Simulated
	switch item.Status {
	case task.ItemSucceeded:
		r.Succeeded++
	case task.ItemCancelled:
		r.Cancelled++
	default:
		r.Failed++
		f.CountFailure(item)
	}
}

// saved is how many calls fewer this task made than if none of its rows had shared one. A call that did not fit its rows was one too many.
func (v *shardView) saved(calls []rowCall) (n int, err error) {
	for _, c := range calls {
		if c.parts == nil {
			continue // its row shares it with none
		}
		r, ok := v.record(c)
		mine := ok && r.By == v.task.ID
		if mine && r.Answer != nil && !r.Split {
			n += len(c.rows) - 1
		}
		if !r.Split {
			continue
		}
		parts, err := v.parts(c)
		if err != nil {
			return 0, err
		}
		more, err := v.saved(parts)
		if err != nil {
			return 0, err
		}
		if n += more; mine {
			n -= r.Calls
		}
	}
	return n, nil
}
