package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"

	"longhaul/internal/rows"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// RowsJob names a task over rows.
type RowsJob struct {
	Task     Task
	Kind     string
	InputKey string
}

// rowsPaper is what is known of a file of rows once it was checked.
type rowsPaper struct {
	Shards []rows.Shard `json:"shards"`
	Rows   int          `json:"rows"`
	Bad    int          `json:"bad"`
	Same   int          `json:"same"`  // rows with the text of an earlier one
	Model  string       `json:"model"` // that is asked for
}

// rowRecord is what the journal keeps of a call, under the hash of its request.
type rowRecord struct {
	Answer *entry      `json:"answer,omitempty"`
	Split  bool        `json:"split,omitempty"` // it does not fit its rows: they are asked about in parts
	Error  *task.Error `json:"error,omitempty"` // why there is none, for good
	Calls  int         `json:"calls"`           // made for it
	Wasted task.Usage  `json:"wasted"`          // by those of them that gave no answer
	By     string      `json:"by"`              // the task that made them
}

// shardView is a shard of rows with all that is on record of it: what an attempt has to do, and what readers see.
type shardView struct {
	shard   rows.Shard
	work    rowWork
	task    Task
	rows    []rows.Row
	same    map[int]int // rows that have the text of an earlier one, by their index in the file
	calls   []rowCall
	of      [][]int // the calls of each row
	model   string  // that is asked for
	journal *rows.Journal
}

// place is that of a row among those of a call.
type place struct{ at, of int }

// rowBooks are all shards of a task over rows that was planned.
type rowBooks struct {
	bucket *storage.Bucket
	job    RowsJob
	work   rowWork
	paper  rowsPaper
	open   map[int]*shardView // the shards that copies were looked up in last
}

// openBooks reads how a task's rows are shared out.
func openBooks(ctx context.Context, bucket *storage.Bucket, job RowsJob) (*rowBooks, error) {
	b := &rowBooks{bucket: bucket, job: job, open: map[int]*shardView{}}
	var err error
	if _, b.work, err = rowsInput(ctx, bucket, job); err != nil {
		return nil, err
	}
	return b, bucket.GetJSON(ctx, storage.RowsKey(job.Task.ID, "plan.json"), &b.paper)
}

// shard opens one shard.
func (b *rowBooks) shard(ctx context.Context, n int) (*shardView, error) {
	v := &shardView{shard: b.paper.Shards[n], work: b.work, task: b.job.Task, same: map[int]int{}, model: b.paper.Model}
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
	if v.journal, err = rows.Open(ctx, b.bucket, storage.RowJournal(b.job.Task.Lineage, v.shard.From)); err != nil {
		return nil, err
	}
	return v, v.layOut()
}

// at is the shard that a row is in.
func (b *rowBooks) at(index int) int {
	return sort.Search(len(b.paper.Shards), func(n int) bool { return b.paper.Shards[n].To > index })
}

// openAtOnce is how many shards are kept open for copies.
const openAtOnce = 8

// outcome is that of the ith row of a shard, as an item without its result, and the result. A copy has that of the row whose text it has, and cost
// nothing.
func (b *rowBooks) outcome(ctx context.Context, v *shardView, i int) (task.Item, rowResult, error) {
	index := v.rows[i].Index
	first, copied := v.same[index]
	if !copied {
		return v.outcome(i)
	}
	n := b.at(first)
	of := v
	if n != b.at(index) {
		if of = b.open[n]; of == nil {
			var err error
			if of, err = b.shard(ctx, n); err != nil {
				return task.Item{}, nil, err
			}
			if len(b.open) == openAtOnce {
				clear(b.open)
			}
			b.open[n] = of
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
		b, err := openBooks(ctx, bucket, job)
		if errors.Is(err, storage.ErrNotFound) {
			return // the rows have not been checked yet
		}
		if err != nil {
			yield(task.Item{}, err)
			return
		}
		for n := b.at(from); n < len(b.paper.Shards); n++ {
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

// layOut shares the rows out to calls. Rows that are bad, or have the text of an earlier one, take none.
func (v *shardView) layOut() (err error) {
	var which []int
	for i, row := range v.rows {
		if _, copied := v.same[row.Index]; !copied && row.Bad == "" {
			which = append(which, i)
		}
	}
	if v.calls, err = v.named(v.work.calls(v.rows, which)); err != nil {
		return err
	}
	v.of = make([][]int, len(v.rows))
	for n, c := range v.calls {
		for _, i := range c.rows {
			v.of[i] = append(v.of[i], n)
		}
	}
	return nil
}

// named gives calls their keys, which are of the model that was asked for, and the request.
func (v *shardView) named(calls []rowCall) ([]rowCall, error) {
	for i := range calls {
		c := &calls[i]
		key, err := storage.LedgerKey("", c.step, []any{v.model, c.step, c.request})
		if err != nil {
			return nil, err
		}
		c.key = path.Base(key)
	}
	return calls, nil
}

// parts are those of a call that does not fit its rows.
func (v *shardView) parts(c rowCall) ([]rowCall, error) { return v.named(c.parts()) }

// record is what is known of a call; false while nothing is. The failures of another task, which this one is a replay of, are none of this
// one's.
func (v *shardView) record(c rowCall) (r rowRecord, ok bool) {
	text, ok := v.journal.Look(c.key)
	if !ok || json.Unmarshal(text, &r) != nil || r.Error != nil && r.By != v.task.ID {
		return rowRecord{}, false
	}
	return r, true
}

// outcome is that of the ith row of the shard as far as there is one: its status is pending otherwise, and the result nil.
func (v *shardView) outcome(i int) (item task.Item, result rowResult, err error) {
	row := v.rows[i]
	item = task.Item{ID: strconv.Itoa(row.Index), Index: row.Index, Name: row.ID, Status: task.ItemPending}
	if row.Bad != "" {
		item.Status, item.Error = task.ItemFailed, task.Errorf(task.RowInvalid, "%s", inLine(row))
		return item, nil, nil
	}
	var answers []rowAnswer
	for _, n := range v.of[i] {
		answer, failed, err := v.answer(v.calls[n], i, &item)
		if err != nil || answer == nil && failed == nil {
			return item, nil, err
		}
		if failed != nil {
			item.Status, item.Error = task.ItemFailed, failed
			return item, nil, nil
		}
		answers = append(answers, *answer)
	}
	if len(answers) == 0 {
		return item, nil, nil // a copy of an earlier row
	}
	if result, err = v.work.result(row, answers); err != nil {
		item.Status, item.Error = task.ItemFailed, task.Errorf(task.BadResponse, "%s", err)
		return item, nil, nil
	}
	item.Status, item.Model, item.Simulated = task.ItemSucceeded, answers[0].From, answers[0].Simulated
	item.Cached = item.Attempts == 0 && item.Usage.Requests == 0
	return item, result, nil
}

func inLine(row rows.Row) string {
	if row.Line == 0 {
		return row.Bad
	}
	return fmt.Sprintf("line %d: %s", row.Line, row.Bad)
}

// answer is that of a call to one of its rows, or why there is none for good; both are nil while it is not known. It counts the row's share of what
// was used. A call that did not fit its rows is followed into its parts.
func (v *shardView) answer(c rowCall, i int, item *task.Item) (*rowAnswer, *task.Error, error) {
	r, ok := v.record(c)
	if !ok {
		return nil, nil, nil
	}
	p := place{slices.Index(c.rows, i), len(c.rows)}
	v.count(item, r, p)
	switch {
	case r.Split:
		parts, err := v.parts(c)
		if err != nil {
			return nil, nil, err
		}
		for _, part := range parts {
			if slices.Contains(part.rows, i) {
				return v.answer(part, i, item)
			}
		}
		return nil, nil, fmt.Errorf("row %d is in no part of its call", i)
	case r.Answer == nil:
		return nil, r.Error, nil
	default:
		return &rowAnswer{entry: *r.Answer, place: p.at, of: p.of}, nil, nil
	}
}

// fits reports whether an answer that rows share has something for each of them.
func (v *shardView) fits(c rowCall, got entry) bool {
	for at, i := range c.rows {
		if _, err := v.work.result(v.rows[i], []rowAnswer{{entry: got, place: at, of: len(c.rows)}}); err != nil {
			return false
		}
	}
	return true
}

// count adds a row's share of what a call used, if it was made for this task.
func (v *shardView) count(item *task.Item, r rowRecord, p place) {
	if r.By != v.task.ID {
		return
	}
	used := r.Wasted
	if r.Answer != nil {
		used = used.Add(r.Answer.used())
	}
	item.Usage = item.Usage.Add(portion(used, p))
	if p.at == 0 {
		item.Attempts += r.Calls
	}
}

// portion is one row's of what a call used.
func portion(u task.Usage, p place) task.Usage {
	if p.of == 1 {
		return u
	}
	mine := task.Usage{
		Requests: split(u.Requests, p), InputTokens: split(u.InputTokens, p), OutputTokens: split(u.OutputTokens, p),
		CachedTokens: split(u.CachedTokens, p), WastedTokens: split(u.WastedTokens, p), UnmeteredCalls: split(u.UnmeteredCalls, p),
	}
	if u.Cost != nil {
		const unit = 1e12 // as sums of costs count
		mine.Cost = &task.Cost{Amount: float64(split(int64(math.Round(u.Cost.Amount*unit)), p)) / unit, Currency: u.Cost.Currency}
	}
	return mine
}

// split is the share of one of several rows: the parts of all add up to the whole.
func split(n int64, p place) int64 {
	each, rest := n/int64(p.of), n%int64(p.of)
	if int64(p.at) < rest {
		return each + 1
	}
	return each
}
