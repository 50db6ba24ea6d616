package rows

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"sync"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/rows"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// rowRecord is what the journal keeps of a call, under the hash of its request.
type rowRecord struct {
	Answer *call.Entry       `json:"answer,omitempty"`
	Split  bool              `json:"split,omitempty"` // it does not fit its rows: they are asked about in parts
	Error  *task.Error       `json:"error,omitempty"` // why there is none, for good
	Open   *record.CallState `json:"open,omitempty"`  // how far it is, when it was left or broken off: it has no outcome yet
	Calls  int               `json:"calls"`           // made for it
	Wasted task.Usage        `json:"wasted"`          // by those of them that gave no answer
	By     string            `json:"by"`              // the task that made them
}

// shardView is a shard of rows with all that is on record of it: what an attempt has to do, and what readers see.
type shardView struct {
	shard   rows.Shard
	work    rowWork
	task    record.TaskRef
	rows    []rows.Row
	same    map[int]int // rows that have the text of an earlier one, by their index in the file
	calls   []rowCall
	of      [][]int         // the calls of each row
	model   string          // that is asked for
	kept    map[int]keptRow // of the task that is run again, by their place in the shard
	journal *rows.Journal
	last    recalled

	mu   sync.Mutex
	made map[string]rowRecord // what this attempt put on record, which needs no decoding
}

// recalled is the record that was decoded last.
type recalled struct {
	key string
	rowRecord
}

// keptRow is the outcome of a row in the task that is run again.
type keptRow struct {
	item   task.Item
	result rowResult
}

// place is that of a row among those of a call.
type place struct{ at, of int }

// layOut shares the rows out to calls. Rows that are bad, or have the text of an earlier one, take none.
func (v *shardView) assignCalls() (err error) {
	var which []int
	for i, row := range v.rows {
		_, copied := v.same[row.Index]
		if _, kept := v.kept[i]; !kept && !copied && row.Bad == "" {
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
	v.mu.Lock()
	r, ok = v.made[c.key]
	v.mu.Unlock()
	if ok {
		return r, true
	}
	text, ok := v.journal.Look(c.key)
	if !ok || json.Unmarshal(text, &r) != nil || (r.Error != nil || r.Open != nil) && r.By != v.task.ID {
		return rowRecord{}, false
	}
	return r, true
}

// write puts a record into the journal, and remembers it.
func (v *shardView) write(ctx context.Context, key string, r rowRecord) error {
	if err := v.journal.Record(context.WithoutCancel(ctx), key, r); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made == nil {
		v.made = map[string]rowRecord{}
	}
	v.made[key] = r
	return nil
}

// recall is record for who asks row by row: rows that share a call share its decoding. It is not for concurrent use.
func (v *shardView) recall(c rowCall) (rowRecord, bool) {
	if v.last.key != c.key {
		r, ok := v.record(c)
		if !ok {
			return r, false
		}
		v.last = recalled{c.key, r}
	}
	return v.last.rowRecord, true
}

// outcome is that of the ith row of the shard as far as there is one: its status is pending otherwise, and the result nil.
func (v *shardView) outcome(i int) (item task.Item, result rowResult, err error) {
	if k, ok := v.kept[i]; ok {
		return k.item, k.result, nil
	}
	row := v.rows[i]
	item = task.Item{ID: strconv.Itoa(row.Index), Index: row.Index, Name: row.ID, Status: task.ItemPending}
	if row.Bad != "" {
		item.Status, item.Error = task.ItemFailed, task.Errorf(task.RowInvalid, "%s", inLine(row))
		item.Error.Step = "check"
		return item, nil, nil
	}
	var answers []rowAnswer
	for _, n := range v.of[i] { // all of them, whatever became of the first: each has used something
		answer, failed, err := v.answer(v.calls[n], i, &item)
		switch {
		case err != nil:
			return item, nil, err
		case failed != nil:
			failed.Step = "rows"
			item.Status, item.Error = task.ItemFailed, failed
		case answer != nil:
			answers = append(answers, *answer)
		}
	}
	if item.Error != nil || len(answers) == 0 || len(answers) < len(v.of[i]) {
		return item, nil, nil // failed, not done yet, or a copy of an earlier row
	}
	if result, err = v.work.result(row, answers); err != nil {
		item.Status, item.Error = task.ItemFailed, task.Errorf(task.BadResponse, "%s", err)
		item.Error.Step = "rows"
		return item, nil, nil
	}
	item.Status, item.Model, item.Simulated = task.ItemSucceeded, answers[0].From, answers[0].Simulated
	item.Cached = !slices.ContainsFunc(answers, func(a rowAnswer) bool { return a.mine })
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
	r, ok := v.recall(c)
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
		return &rowAnswer{Entry: *r.Answer, place: p.at, of: p.of, mine: r.By == v.task.ID}, nil, nil
	}
}

// fits reports whether an answer that rows share has something for each of them.
func (v *shardView) fits(c rowCall, got call.Entry) bool {
	for at, i := range c.rows {
		if _, err := v.work.result(v.rows[i], []rowAnswer{{Entry: got, place: at, of: len(c.rows)}}); err != nil {
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
		used = used.Add(r.Answer.Used())
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
