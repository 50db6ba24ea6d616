package rows

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"longhaul/activities/call"
	"longhaul/internal/document"
	"longhaul/internal/record"
	"longhaul/internal/rows"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// RowsPlan is what a workflow must know of checked rows.
type RowsPlan struct {
	Shards int    `json:"shards,omitempty"`
	Rows   int    `json:"rows,omitempty"`
	Queue  string `json:"queue,omitempty"` // the task queue of the calls
}

// rowsInput reads a task's input and makes its work.
func rowsInput(ctx context.Context, bucket *storage.Bucket, job RowsJob) (source task.RowSource, work rowWork, err error) {
	switch job.Kind {
	case "generate":
		in := new(task.GenerateInput)
		if err = bucket.GetJSON(ctx, job.InputKey, in); err == nil {
			source = in.RowSource
			work, err = newGeneration(in)
		}
	case "classify":
		in := new(task.ClassifyInput)
		if err = bucket.GetJSON(ctx, job.InputKey, in); err == nil {
			source = in.RowSource
			work, err = newClassification(in)
		}
	case "embed":
		in := new(task.EmbedInput)
		if err = bucket.GetJSON(ctx, job.InputKey, in); err == nil {
			source = in.RowSource
			work, err = newVectorization(in)
		}
	default:
		err = fmt.Errorf("the kind %s has no rows", job.Kind)
	}
	return source, work, err
}

// rowModel is the model that a task over rows asks for.
func (a *Activities) rowModel(job RowsJob) string {
	if job.Kind == "embed" && job.Task.Model == "" {
		return a.Embedding
	}
	return a.Call.Router.Model(job.Task.Model)
}

// FetchRows brings a file of rows from its address into the bucket. A retry fetches it again.
func (a *Activities) FetchRows(ctx context.Context, job RowsJob) error {
	heart := call.StartHeartbeat(ctx, "fetching the rows")
	defer heart.Stop()
	source, _, err := rowsInput(ctx, a.Bucket, job)
	if err != nil {
		return call.DocumentError(ctx, err)
	}
	if source.File == nil || source.File.URL == "" {
		return nil
	}
	var got document.Fetched
	err = a.Bucket.PutFrom(ctx, storage.RowsKey(job.Task.ID, "source"), "application/octet-stream", func(w io.Writer) (err error) {
		got, err = a.Fetcher.Fetch(ctx, source.File.URL, w)
		return err
	})
	if err != nil {
		return call.DocumentError(ctx, err)
	}
	return a.Bucket.PutJSON(ctx, storage.RowsKey(job.Task.ID, "fetched.json"), got)
}

// How rows are shared out. A shard is small enough that one that is lost or slow does not matter, and large enough that
// Temporal's share of a row is small. Pieces are what the end of a file is cut into.
var (
	shardSize = rows.Size{Rows: 128, Bytes: 1 << 20}
	pieceSize = rows.Size{Rows: 16, Bytes: 128 << 10}
)

// shardWidth is how many workers are thought to share the end of a file, which is cut small for them. One worker has the calls of all
// its shards in one lane, so within it their size does not matter.
const shardWidth = 4

// PlanRows checks every row of a file, before anything is spent, and shares them out. Rows that cannot be used are listed with
// their lines; rows with the text of an earlier one are noted. Run again it writes the same again.
func (a *Activities) PlanRows(ctx context.Context, job RowsJob) (RowsPlan, error) {
	heart := call.StartHeartbeat(ctx, "checking the rows")
	defer heart.Stop()
	source, work, err := rowsInput(ctx, a.Bucket, job)
	if err != nil {
		return RowsPlan{}, call.DocumentError(ctx, err)
	}
	c := &rowChecker{work: work, columns: map[string]bool{}, texts: map[[16]byte]int{}, same: map[int]int{}, heart: heart}
	err = a.Bucket.PutFrom(ctx, storage.RowsKey(job.Task.ID, "rows.jsonl"), "application/jsonl", func(w io.Writer) error {
		c.out = rows.NewWriter(w, pieceSize)
		if err := a.eachRow(ctx, job, source, c.take); err != nil {
			return err
		}
		if len(c.columns) > 0 { // rows that are all bad say themselves why
			if err := work.check(slices.Sorted(maps.Keys(c.columns))); err != nil {
				return err
			}
		}
		return c.out.Flush()
	})
	if err != nil {
		return RowsPlan{}, call.DocumentError(ctx, err)
	}
	paper := manifest{Shards: rows.Tail(c.out.Pieces(), shardSize, shardWidth), Rows: c.rows, Bad: c.bad, Same: len(c.same), Model: a.rowModel(job)}
	if paper.Keep, err = a.keepRows(ctx, job, work, paper.Rows); err != nil {
		return RowsPlan{}, err
	}
	if err := a.writeManifest(ctx, job, paper, c.same); err != nil {
		return RowsPlan{}, err
	}
	return RowsPlan{Shards: len(paper.Shards), Rows: paper.Rows, Queue: a.Call.Router.Targets(a.rowModel(job))[0].Queue}, nil
}

// keepRows finds the task whose succeeded rows are kept, and sees to it that it has as many: rows are kept by their place.
func (a *Activities) keepRows(ctx context.Context, job RowsJob, work rowWork, n int) (*RowsJob, error) {
	k := job.Task.Keep
	if k == nil {
		return nil, nil
	}
	before := RowsJob{Kind: job.Kind, InputKey: k.InputKey, Task: record.TaskRef{ID: k.ID, Tenant: job.Task.Tenant, Lineage: job.Task.Lineage, Model: k.Model}}
	books, err := openResults(ctx, a.Bucket, before)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil, nil // it ended before its rows were checked
	case err != nil:
		return nil, err
	case books.manifest.Rows != n:
		return nil, call.Final(task.Errorf(task.Invalid, "the task that is run again has %d rows and this one %d, so none can be kept by its place; replay with scope all", books.manifest.Rows, n), record.CallState{})
	}
	if v, ok := work.(*vectorization); ok && (books.manifest.Model != a.rowModel(job) || !v.comparable(books.work)) {
		return nil, call.Final(task.Errorf(task.Invalid, "vectors of another model or form cannot stand beside those that are there; replay with scope all"), record.CallState{})
	}
	return &before, nil
}

// eachRow reads the rows of a task.
func (a *Activities) eachRow(ctx context.Context, job RowsJob, source task.RowSource, visit func(rows.Row) error) error {
	opts := rows.ReadOptions{Columns: source.Columns}
	if source.File == nil {
		return rows.ReadInline(ctx, source.Rows, opts, visit)
	}
	if source.File.Format != "batch" {
		opts.Format = rows.Format(source.File.Format)
	} else {
		opts.Format = rows.JSONL
	}
	object, err := a.rowFile(ctx, job, source.File, &opts)
	if err != nil {
		return err
	}
	defer func() { _ = object.Close() }()
	return rows.Read(ctx, object, opts, visit)
}

// rowFile opens the file of a task, and tells what is known of it.
func (a *Activities) rowFile(ctx context.Context, job RowsJob, file *task.RowFile, opts *rows.ReadOptions) (*storage.Object, error) {
	if file.FileID != "" {
		described, err := a.Files.Stat(ctx, job.Task.Tenant, file.FileID)
		if err != nil {
			return nil, err
		}
		opts.Name, opts.ContentType = described.Name, described.ContentType
		return a.Files.Open(ctx, job.Task.Tenant, file.FileID)
	}
	var got document.Fetched
	if err := a.Bucket.GetJSON(ctx, storage.RowsKey(job.Task.ID, "fetched.json"), &got); err != nil {
		return nil, err
	}
	opts.Name, opts.ContentType = got.Name, got.ContentType
	return a.Bucket.Object(ctx, storage.RowsKey(job.Task.ID, "source"))
}

// rowChecker looks at every row once.
type rowChecker struct {
	work    rowWork
	out     *rows.Writer
	heart   *call.Heartbeat
	columns map[string]bool // that there are, up to mostColumns
	texts   map[[16]byte]int
	same    map[int]int
	rows    int
	bad     int
}

// mostColumns is how many columns are remembered, to tell what a misspelt one should be.
const mostColumns = 1000

// take checks a row and writes it down.
func (c *rowChecker) take(row rows.Row) error {
	for name := range row.Fields {
		if len(c.columns) < mostColumns {
			c.columns[name] = true
		}
	}
	if row.Bad == "" {
		text, missing := c.work.text(row)
		switch {
		case len(missing) > 0:
			row.Bad = fmt.Sprintf("it has no %s", missing[0])
		case strings.TrimSpace(text) == "":
			row.Bad = "there is no text in it"
		default:
			c.note(row.Index, text)
		}
	}
	if row.Bad != "" {
		c.bad++
	}
	c.rows++
	c.heart.Update(func(b *record.Heartbeat) { b.Done = c.rows })
	return c.out.Write(row)
}

// note remembers a text, or which row had it first.
func (c *rowChecker) note(index int, text string) {
	sum := sha256.Sum256([]byte(text))
	key := [16]byte(sum[:16])
	if first, seen := c.texts[key]; seen {
		c.same[index] = first
		return
	}
	c.texts[key] = index
}

// layRows writes down how the rows are shared out, and which rows of each shard are copies.
func (a *Activities) writeManifest(ctx context.Context, job RowsJob, paper manifest, same map[int]int) error {
	for n, shard := range paper.Shards {
		copies := map[int]int{}
		for i := shard.From; i < shard.To; i++ {
			if first, ok := same[i]; ok {
				copies[i] = first
			}
		}
		if len(copies) == 0 {
			continue
		}
		if err := a.Bucket.PutJSON(ctx, storage.RowsKey(job.Task.ID, fmt.Sprintf("same-%06d.json", n)), copies); err != nil {
			return err
		}
	}
	return a.Bucket.PutJSON(ctx, storage.RowsKey(job.Task.ID, "plan.json"), paper)
}
