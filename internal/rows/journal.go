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

// Store is the part of a bucket that a journal needs; storage.Bucket implements it. A Put is atomic.
type Store interface {
	Put(ctx context.Context, key, contentType string, data []byte) error
	List(ctx context.Context, prefix string) ([]storage.Entry, error)
	Get(ctx context.Context, key string) ([]byte, error)
}

// segmentBytes is the size at which a segment is closed. A smaller segment is rewritten with each new group, so that a
// shard with few records per write leaves a few objects instead of one per record.
const segmentBytes = 64 << 10

// Journal records the paid answers of one shard, written in groups. It holds all records in memory. It is safe for
// concurrent use.
type Journal struct {
	// Log receives failed writes, which are retried; nil disables it. Set it before the first Record.
	Log *slog.Logger
	// Pace is shared by all journals of a process; by default the journal has its own. Set it before the first Record.
	Pace *Pace

	store  Store
	name   string // name prefix of this journal's segments
	broken int

	mu      sync.Mutex
	records map[string]json.RawMessage
	next    *group // collects records for the next write; nil without waiting records
	writing bool
	last    error

	segment []byte // content of the newest segment; segment and number belong to the writing goroutine
	number  int
}

// group is the records of one write.
type group struct {
	lines   []byte
	records []record
	waiting int           // callers of Record that wait
	durable chan struct{} // closed when the group is stored
}

type record struct {
	key string
	raw json.RawMessage
}

// Open loads the records of earlier attempts under a prefix, which ends in a slash, and starts a new journal beside
// them with unique segment names. If a key has several records, the record of the later journal counts. Unreadable
// lines are skipped and counted by Broken.
func Open(ctx context.Context, store Store, prefix string) (*Journal, error) {
	segments, err := Segments(ctx, store, prefix)
	if err != nil {
		return nil, err
	}
	for i := range segments {
		segments[i].Bytes = math.MaxInt64 // records added in the meantime count too
	}
	return Reopen(ctx, store, prefix, segments)
}

// Segment is a segment of a journal and its size when it was listed. Segments grow, but their content does not change.
type Segment struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Segments lists the segments under a prefix.
func Segments(ctx context.Context, store Store, prefix string) ([]Segment, error) {
	entries, err := store.List(ctx, prefix)
	segments := make([]Segment, len(entries))
	for i, e := range entries {
		segments[i] = Segment{Name: e.Name, Bytes: e.Bytes}
	}
	return segments, err
}

// Reopen is Open limited to the content at the time when segments were listed.
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

// number returns the prefix of a journal's segment names: the time, but at least one more than every existing prefix,
// in case the clock was set back. The last record counts, so an open call in an earlier journal must not hide its paid
// answer in a later journal.
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

// Frame of a line of a segment, around the key and the record. A key cannot contain frameRecord, because quotes in a
// JSON text are escaped.
const frameKey, frameRecord, frameEnd = `{"key":`, `,"record":`, "}\n"

// unframe splits a line into key and record without copying.
func unframe(line []byte) (key string, raw json.RawMessage, ok bool) {
	rest, begins := bytes.CutPrefix(line, []byte(frameKey))
	rest, ends := bytes.CutSuffix(rest, []byte(frameEnd))
	name, raw, parted := bytes.Cut(rest, []byte(frameRecord))
	ok = begins && ends && parted && json.Unmarshal(name, &key) == nil && json.Valid(raw)
	return key, raw, ok
}

// Broken returns the number of unreadable records of earlier attempts; their calls are paid again.
func (j *Journal) Broken() int { return j.broken }

// Look returns the durable record of a key.
func (j *Journal) Look(key string) (json.RawMessage, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	raw, ok := j.records[key]
	return raw, ok
}

// Record stores a record and returns when it is durable. Concurrent records are written together. A failing store is
// retried with growing delays until ctx is done; after that the record is written together with the next record, if
// there is one.
func (j *Journal) Record(ctx context.Context, key string, record any) error {
	raw, err := json.Marshal(record)
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

// add puts a record into the next group, and starts a writer if none is running.
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

// abandon ends a Record whose context is done.
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

// write writes groups until none waits. Records that arrive during a write form the next group.
func (j *Journal) write(ctx context.Context) {
	for {
		j.gather()
		g := j.nextGroup()
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

// gather delays the next group, if there is one, so that more records can join it.
func (j *Journal) gather() {
	j.mu.Lock()
	waits := j.next != nil
	j.mu.Unlock()
	if waits {
		time.Sleep(j.Pace.patience(time.Now()))
	}
}

// nextGroup returns the group to write; nil ends the writer.
func (j *Journal) nextGroup() *group {
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

// put writes a group into the newest segment. After a failure it starts a new segment, because the failed write may
// still take effect and must not overwrite later records.
func (j *Journal) put(ctx context.Context, g *group) error {
	segment := append(j.segment, g.lines...)
	err := j.store.Put(ctx, fmt.Sprintf("%s-%06d.jsonl", j.name, j.number), "application/jsonl", segment)
	j.segment = segment
	switch {
	case err != nil:
		j.number++
		j.segment = nil // a new array, because the failed write may still read the old one
	case len(segment) >= segmentBytes:
		j.number++
		j.segment = segment[:0]
	}
	return err
}

// settle marks the records of a group as durable.
func (j *Journal) settle(g *group) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range g.records {
		j.records[r.key] = r.raw
	}
	j.last = nil
	close(g.durable)
}

// again waits before the next attempt. It returns false when no caller waits for the group; the group is then left to
// the next writer.
func (j *Journal) again(n int, g *group, err error) bool {
	if j.Log != nil {
		j.Log.Warn("journal write failed, retrying", "records", len(g.records), "error", err)
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
