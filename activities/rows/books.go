package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sort"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"longhaul/internal/record"
	"longhaul/internal/rows"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// RowsJob names a task over rows.
type RowsJob struct {
	Task     record.TaskRef `json:"task,omitzero"`
	Kind     string         `json:"kind,omitempty"`
	InputKey string         `json:"input_key,omitempty"`
}

// rowsPaper is what is known of a file of rows once it was checked.
type manifest struct {
	Shards []rows.Shard `json:"shards"`
	Rows   int          `json:"rows"`
	Bad    int          `json:"bad"`
	Same   int          `json:"same"`           // rows with the text of an earlier one
	Model  string       `json:"model"`          // that is asked for
	Keep   *RowsJob     `json:"keep,omitempty"` // whose succeeded rows are kept
}

// rowBooks are all shards of a task over rows that was planned.
type rowResults struct {
	bucket   *storage.Bucket
	job      RowsJob
	work     rowWork
	manifest manifest
	kept     *rowResults // those of the task whose succeeded rows are kept; nil for none
	closed   *rowsClosed // nil while the task runs

	mu   sync.Mutex
	open map[int]*shardView // the shards that single rows were looked up in last
}

// openBooks reads how a task's rows are shared out.
func openResults(ctx context.Context, bucket *storage.Bucket, job RowsJob) (*rowResults, error) {
	b := &rowResults{bucket: bucket, job: job, open: map[int]*shardView{}}
	var err error
	if _, b.work, err = rowsInput(ctx, bucket, job); err != nil {
		return nil, err
	}
	if err = bucket.GetJSON(ctx, storage.RowsKey(job.Task.ID, "plan.json"), &b.manifest); err != nil {
		return b, err
	}
	if err = bucket.GetJSON(ctx, storage.RowsKey(job.Task.ID, "closed.json"), &b.closed); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return b, err
	}
	if b.manifest.Keep == nil {
		return b, nil
	}
	b.kept, err = openResults(ctx, bucket, *b.manifest.Keep)
	return b, err
}

// shard opens one shard.
func (b *rowResults) shard(ctx context.Context, n int) (*shardView, error) {
	v := &shardView{shard: b.manifest.Shards[n], work: b.work, task: b.job.Task, same: map[int]int{}, model: b.manifest.Model}
	text, err := b.bucket.GetRange(ctx, storage.RowsKey(b.job.Task.ID, "rows.jsonl"), v.shard.Start, v.shard.End)
	if err != nil {
		return nil, err
	}
	if v.rows, err = v.shard.Read(text); err != nil {
		return nil, err
	}
	err = b.bucket.GetJSON(ctx, storage.RowsKey(b.job.Task.ID, fmt.Sprintf("same-%06d.json", n)), &v.same)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, err
	}
	if v.journal, err = b.journal(ctx, n); err != nil {
		return nil, err
	}
	if err := b.keep(ctx, v); err != nil {
		return nil, err
	}
	return v, v.assignCalls()
}

// rowsClosed says which records count for a task that has ended, shard by shard. What came later is of a task that runs this one again, or of a call
// that was under way when nobody waited for it any more.
type rowsClosed struct {
	Shards [][]rows.Segment `json:"shards"`
}

func (b *rowResults) journal(ctx context.Context, n int) (*rows.Journal, error) {
	prefix := storage.RowJournal(b.job.Task.Lineage, b.manifest.Shards[n].From)
	if b.closed != nil {
		return rows.Reopen(ctx, b.bucket, prefix, b.closed.Shards[n])
	}
	return rows.Open(ctx, b.bucket, prefix)
}

// close decides which records count, once and for all.
func (b *rowResults) close(ctx context.Context) error {
	if b.closed != nil {
		return nil // by an attempt before
	}
	closed := rowsClosed{Shards: make([][]rows.Segment, len(b.manifest.Shards))}
	g, listing := errgroup.WithContext(ctx)
	g.SetLimit(closeAtOnce)
	for n, shard := range b.manifest.Shards {
		g.Go(func() (err error) {
			closed.Shards[n], err = rows.Segments(listing, b.bucket, storage.RowJournal(b.job.Task.Lineage, shard.From))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	key := storage.RowsKey(b.job.Task.ID, "closed.json")
	if _, err := b.bucket.PutNewJSON(ctx, key, closed); err != nil {
		return err
	}
	return b.bucket.GetJSON(ctx, key, &b.closed) // an attempt that was taken for lost may have been first
}

// closeAtOnce is how many shards are listed side by side.
const closeAtOnce = 16

// keep looks up which rows of a shard succeeded in the task that is run again.
func (b *rowResults) keep(ctx context.Context, v *shardView) error {
	v.kept = map[int]keptRow{}
	if b.kept == nil {
		return nil
	}
	for i, row := range v.rows {
		item, result, err := b.kept.one(ctx, row.Index)
		if err != nil {
			return err
		}
		if item.Status == task.ItemSucceeded {
			item.Usage, item.Attempts, item.Cached = task.Usage{}, 0, true
			v.kept[i] = keptRow{item, result}
		}
	}
	return nil
}

// one is the outcome of a row by its index in the file. It is safe for concurrent use.
func (b *rowResults) one(ctx context.Context, index int) (task.Item, rowResult, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, err := b.holding(ctx, index)
	if err != nil {
		return task.Item{}, nil, err
	}
	return b.outcome(ctx, v, index-v.shard.From)
}

// holding is the shard that a row is in. The last ones are kept open.
func (b *rowResults) holding(ctx context.Context, index int) (*shardView, error) {
	n := b.at(index)
	if v := b.open[n]; v != nil {
		return v, nil
	}
	v, err := b.shard(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(b.open) == openAtOnce {
		clear(b.open)
	}
	b.open[n] = v
	return v, nil
}

// openAhead is how many shards are opened ahead of the one that is worked on: each takes several turns to the bucket.
const openAhead = 8

// each opens every shard in turn, the next ones while the one before is worked on. An error ends it.
func (b *rowResults) each(ctx context.Context) iter.Seq2[*shardView, error] {
	type opened struct {
		view *shardView
		err  error
	}
	return func(yield func(*shardView, error) bool) {
		left := make(chan struct{})
		defer close(left)
		ahead := make(chan chan opened, openAhead)
		go func() {
			defer close(ahead)
			for n := range b.manifest.Shards {
				next := make(chan opened, 1)
				select {
				case ahead <- next:
				case <-left:
					return
				}
				go func() {
					view, err := b.shard(ctx, n)
					next <- opened{view, err}
				}()
			}
		}()
		for next := range ahead {
			got := <-next
			if !yield(got.view, got.err) || got.err != nil {
				return
			}
		}
	}
}

// at is the shard that a row is in.
func (b *rowResults) at(index int) int {
	return sort.Search(len(b.manifest.Shards), func(n int) bool { return b.manifest.Shards[n].To > index })
}

// openAtOnce is how many shards are kept open for single rows.
const openAtOnce = 8

// outcome is that of the ith row of a shard, as an item without its result, and the result. A copy has that of the row whose text it has, and cost
// nothing.
func (b *rowResults) outcome(ctx context.Context, v *shardView, i int) (task.Item, rowResult, error) {
	index := v.rows[i].Index
	first, copied := v.same[index]
	if _, kept := v.kept[i]; kept || !copied {
		return v.outcome(i)
	}
	of := v
	if b.at(first) != b.at(index) {
		var err error
		if of, err = b.holding(ctx, first); err != nil {
			return task.Item{}, nil, err
		}
	}
	item, result, err := of.outcome(first - of.shard.From)
	item.ID, item.Index, item.Name = strconv.Itoa(index), index, v.rows[i].ID
	item.Usage, item.Attempts, item.Cached = task.Usage{}, 0, item.Status == task.ItemSucceeded
	return item, result, err
}

// RowItems gives the items of a task over rows from an index on, with as much as is known of each.
func RowItems(ctx context.Context, bucket *storage.Bucket, job RowsJob, from int) iter.Seq2[task.Item, error] {
	return func(yield func(task.Item, error) bool) {
		b, err := openResults(ctx, bucket, job)
		if errors.Is(err, storage.ErrNotFound) {
			return // the rows have not been checked yet
		}
		if err != nil {
			yield(task.Item{}, err)
			return
		}
		for n := b.at(from); n < len(b.manifest.Shards); n++ {
			v, err := b.shard(ctx, n)
			if err != nil {
				yield(task.Item{}, err)
				return
			}
			for i := range v.rows {
				if v.rows[i].Index < from {
					continue
				}
				item, result, err := b.outcome(ctx, v, i)
				if err == nil && result != nil {
					item.Result, err = json.Marshal(result)
				}
				if !yield(item, err) || err != nil {
					return
				}
			}
		}
	}
}

// plansHeld is how many plans a worker keeps in mind.
const plansHeld = 16

// rowPlans keeps the plans that were used lately, which never change: a shard that read that of all shards would cost the more
// the more there are. The zero value is empty.
type planCache struct {
	mu   sync.Mutex
	held map[string]*rowResults // by task; nothing is taken from them but the plan, and what an earlier task kept
}

// open is openBooks.
func (p *planCache) open(ctx context.Context, bucket *storage.Bucket, job RowsJob) (*rowResults, error) {
	p.mu.Lock()
	known := p.held[job.Task.ID]
	p.mu.Unlock()
	if known != nil {
		return &rowResults{bucket: bucket, job: job, work: known.work, manifest: known.manifest, kept: known.kept, open: map[int]*shardView{}}, nil
	}
	b, err := openResults(ctx, bucket, job)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil || len(p.held) == plansHeld {
		p.held = map[string]*rowResults{}
	}
	p.held[job.Task.ID] = b
	return b, nil
}
