package rows

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"longhaul/internal/storage"
)

// Store is what a journal needs of a bucket; storage.Bucket is one. A Put is whole or not at all.
type Store interface {
	Put(ctx context.Context, key, contentType string, data []byte) error
	List(ctx context.Context, prefix string) ([]storage.Entry, error)
	Get(ctx context.Context, key string) ([]byte, error)
}

// segmentBytes is from when on a segment gets no more records. Until then it is written again with more, so a
// shard whose records come one by one leaves a few objects, not one a record.
const segmentBytes = 64 << 10

// Journal is the record of what was paid for in one shard: a ledger whose answers are written in groups. It is held
// in memory, so it takes as much as the shard's records. It is safe for concurrent use.
type Journal struct {
	// Log hears of writes that failed and are tried again. Set it before the first Record; nil: nobody does.
	Log *slog.Logger
	// Pace is that of all journals of a process. Set it before the first Record; it is the journal's own otherwise.
	Pace *Pace

	store  Store
	name   string // how the names of its own segments begin
	broken int

	mu      sync.Mutex
	records map[string]json.RawMessage
	next    *group // gathers for the write after the one that is going on; nil when nothing waits
	writing bool
	last    error

	segment []byte // what the newest segment holds; this and number belong to the one who writes
	number  int
}

// group is the records of one write.
type group struct {
	lines   []byte
	records []record
	waiting int           // callers of Record
	durable chan struct{} // closed when they need wait no longer
}

type record struct {
	key string
	raw json.RawMessage
}

// Open loads what earlier attempts recorded under a prefix, which ends in a slash, and begins a journal of its own
// beside theirs: its segments have a name that no other journal has. Of two records of a key the one of the later
// journal counts. What cannot be read of a segment is skipped and counted by Broken.
func Open(ctx context.Context, store Store, prefix string) (*Journal, error) {
	segments, err := Segments(ctx, store, prefix)
	if err != nil {
		return nil, err
	}
	for i := range segments {
		segments[i].Bytes = math.MaxInt64 // what was added in the meantime is as good
	}
	return Reopen(ctx, store, prefix, segments)
}

// Segment is a part of a journal as long as it was at some moment. It may have grown since, but not changed.
type Segment struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Segments lists what is recorded under a prefix at this moment.
func Segments(ctx context.Context, store Store, prefix string) ([]Segment, error) {
	entries, err := store.List(ctx, prefix)
	segments := make([]Segment, len(entries))
	for i, e := range entries {
		segments[i] = Segment{Name: e.Name, Bytes: e.Bytes}
	}
	return segments, err
}

// Reopen is Open with what was recorded when the segments were listed, and with nothing that came later.
func Reopen(ctx context.Context, store Store, prefix string, segments []Segment) (*Journal, error) {
	j := &Journal{
		store: store, records: map[string]json.RawMessage{}, Pace: &Pace{},
		name: fmt.Sprintf("%s%013d-%s", prefix, number(segments, time.Now()), rand.Text()),
	}
	for _, segment := range segments {
		data, err := store.Get(ctx, prefix+segment.Name)
		if err != nil {
			return nil, err
		}
		j.load(data[:min(segment.Bytes, int64(len(data)))])
	}
	return j, nil
}

// number is what the names of a journal begin with: the time, or if the clock was put back meanwhile the next after all that are there. What
// counts is what comes last, and a call that is still open in an earlier journal must not hide its paid answer in a later one.
func number(segments []Segment, now time.Time) int64 {
	n := now.UnixMilli()
	for _, s := range segments {
		head, _, _ := strings.Cut(s.Name, "-")
		if before, err := strconv.ParseInt(head, 10, 64); err == nil {
			n = max(n, before+1)
		}
	}
	return n
}

func (j *Journal) load(segment []byte) {
	for line := range bytes.Lines(segment) {
		key, raw, ok := unframe(line)
		if !ok {
			j.broken++
			continue
		}
		j.records[key] = raw
	}
}

// A line of a segment is a key and its record between these. No key can hold the second: within a JSON text quotes are escaped.
const frameKey, frameRecord, frameEnd = `{"key":`, `,"record":`, "}\n"

// unframe takes a line apart without a copy of what it holds.
func unframe(line []byte) (key string, raw json.RawMessage, ok bool) {
	rest, begins := bytes.CutPrefix(line, []byte(frameKey))
	rest, ends := bytes.CutSuffix(rest, []byte(frameEnd))
	name, raw, parted := bytes.Cut(rest, []byte(frameRecord))
	ok = begins && ends && parted && json.Unmarshal(name, &key) == nil && json.Valid(raw)
	return key, raw, ok
}

// Broken is how many records of earlier attempts could not be read: they are paid for once more.
func (j *Journal) Broken() int { return j.broken }

// Look gives the durable record of a key.
func (j *Journal) Look(key string) (json.RawMessage, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	raw, ok := j.records[key]
	return raw, ok
}

// Record keeps a record and returns when it is durable. Records that come together are written together. A store that
// fails is asked again, ever more slowly, until ctx is done; even then what it was given is
// written with the next record, if one comes.
func (j *Journal) Record(ctx context.Context, key string, what any) error {
	raw, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode the record of %s: %w", key, err)
	}
	g, err := j.add(ctx, key, raw)
	if err != nil {
		return err
	}
	select {
	case <-g.durable:
		return nil
	case <-ctx.Done():
		return j.abandon(ctx, g)
	}
}

// add puts a record into the next write, and sees to it that somebody writes.
func (j *Journal) add(ctx context.Context, key string, raw json.RawMessage) (*group, error) {
	quoted, err := json.Marshal(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.next == nil {
		j.next = &group{durable: make(chan struct{})}
	}
	g := j.next
	g.records = append(g.records, record{key, raw})
	for _, part := range [][]byte{[]byte(frameKey), quoted, []byte(frameRecord), raw, []byte(frameEnd)} {
		g.lines = append(g.lines, part...)
	}
	g.waiting++
	if !j.writing {
		j.writing = true
		go j.write(context.WithoutCancel(ctx))
	}
	return g, nil
}

// abandon is the end of a Record whose caller waits no longer.
func (j *Journal) abandon(ctx context.Context, g *group) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-g.durable:
		return nil
	default:
	}
	g.waiting--
	if j.last != nil {
		return fmt.Errorf("%w; the last write failed: %w", context.Cause(ctx), j.last)
	}
	return context.Cause(ctx)
}

// write writes group after group, until nothing waits. What comes while one write goes on, and the next waits for company, is one group.
func (j *Journal) write(ctx context.Context) {
	for {
		j.gather()
		g := j.take()
		if g == nil {
			return
		}
		for n := 1; ; n++ {
			err := j.put(ctx, g)
			if err == nil {
				break
			}
			if !j.again(n, g, err) {
				return
			}
		}
		j.settle(g)
	}
}

// gather lets the next group, if there is one, wait for company.
func (j *Journal) gather() {
	j.mu.Lock()
	waits := j.next != nil
	j.mu.Unlock()
	if waits {
		time.Sleep(j.Pace.patience(time.Now()))
	}
}

// take gives the group to write now; nil ends the writing.
func (j *Journal) take() *group {
	j.mu.Lock()
	defer j.mu.Unlock()
	g := j.next
	j.next = nil
	if g == nil {
		j.writing = false
		return nil
	}
	j.Pace.wrote(time.Now(), len(g.records))
	return g
}

// put writes a group into the newest segment. After a failure it goes into another one: what the failed
// write was about may still arrive, and must then not replace anything that came later.
func (j *Journal) put(ctx context.Context, g *group) error {
	segment := append(j.segment, g.lines...)
	err := j.store.Put(ctx, fmt.Sprintf("%s-%06d.jsonl", j.name, j.number), "application/jsonl", segment)
	j.segment = segment
	switch {
	case err != nil:
		j.number++
		j.segment = nil // not the same array again: what carries the failed write may still read it
	case len(segment) >= segmentBytes:
		j.number++
		j.segment = segment[:0]
	}
	return err
}

// settle tells everybody that their records are durable.
func (j *Journal) settle(g *group) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range g.records {
		j.records[r.key] = r.raw
	}
	j.last = nil
	close(g.durable)
}

// again waits before the next try. It is false when nobody waits for the group any longer, which then stays for the
// next writer.
func (j *Journal) again(n int, g *group, err error) bool {
	if j.Log != nil {
		j.Log.Warn("paid rows not recorded yet", "records", len(g.records), "error", err)
	}
	j.mu.Lock()
	j.last = err
	j.mu.Unlock()
	time.Sleep(min(100*time.Millisecond<<min(n-1, 10), 10*time.Second))
	j.mu.Lock()
	defer j.mu.Unlock()
	if g.waiting > 0 || j.next != nil && j.next.waiting > 0 {
		return true
	}
	if j.next != nil {
		g.lines, g.records = append(g.lines, j.next.lines...), append(g.records, j.next.records...)
	}
	j.next, j.writing = g, false
	return false
}
