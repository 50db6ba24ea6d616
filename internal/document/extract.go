package document

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"longhaul/internal/task"
)

// Limits bound what one document may cost. Zero fields take the defaults named beside them.
type Limits struct {
	TextBytes   int64         // of text out of a document; 32 MiB
	MemoryBytes int64         // of the child that reads it; 1 GiB
	Timeout     time.Duration // for reading it; 2 minutes
}

// Options configure an Extractor. The zero value works.
type Options struct {
	Workers           int    // children at work at the same time; 0 means one per CPU
	CacheDir          string // keeps the compiled PDF engine between processes, some 25 MB; "" means each child compiles it again, which takes seconds
	Limits            Limits
	Log               *slog.Logger // nil means no logs
	DocumentsPerChild int          // a child is replaced after so many; 0 means 200
}

// Input is one document to read.
type Input struct {
	Path        string // a local file, only read
	Name        string // what its owner calls it; its extension decides between text formats
	ContentType string // as declared by whoever sent it: may be wrong, or ""
	Password    string // opens an encrypted PDF; "" means none
}

// Text is what a document says: valid UTF-8 without control characters, never empty.
type Text struct {
	Markdown string
	Format   string   // pdf, docx, html, epub, markdown, text or csv
	Pages    int      // of a PDF; 0 for formats that have none
	Charset  string   // a text format's encoding, such as gb18030; "" for the others
	Warnings []string // what could not be read although the rest could

	PageStarts []int // of a PDF: the byte of Markdown that each page begins at; an empty page where the next does
}

// Extractor reads documents in a pool of child processes. It is safe for concurrent use.
type Extractor struct {
	options Options
	seats   chan struct{} // one for each child that may work at a time

	mu     sync.Mutex
	idle   []*child // the one used last is used next, so that few stay warm
	live   map[*child]struct{}
	closed bool
}

// errClosed answers those who come after Close.
var errClosed = errors.New("document: the extractor is closed")

// NewExtractor makes an Extractor. No process is started before Warm or the first Extract.
func NewExtractor(options Options) *Extractor {
	options = options.withDefaults()
	return &Extractor{
		options: options,
		seats:   make(chan struct{}, options.Workers),
		live:    map[*child]struct{}{},
	}
}

func (o Options) withDefaults() Options {
	o.Workers = orElse(o.Workers, runtime.NumCPU())
	o.DocumentsPerChild = orElse(o.DocumentsPerChild, 200)
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (l Limits) withDefaults() Limits {
	return Limits{
		TextBytes:   orElse(l.TextBytes, 32<<20),
		MemoryBytes: orElse(l.MemoryBytes, 1<<30),
		Timeout:     orElse(l.Timeout, 2*time.Minute),
	}
}

// orElse gives value, or fallback when value is not positive.
func orElse[N int | int64 | time.Duration](value, fallback N) N {
	if value > 0 {
		return value
	}
	return fallback
}

// Warm starts the first child and has it compile the PDF engine into the cache folder, so that no
// document waits for it. Processes that share the folder compile one after the other.
func (e *Extractor) Warm(ctx context.Context) error {
	for range 2 { // a child that had to compile holds so much memory that another takes its place
		if _, err := e.serve(ctx, request{Warm: true}, nil); err != nil {
			return fmt.Errorf("warm the PDF engine: %w", err)
		}
	}
	return nil
}

// Extract reads one document. Cancelling ctx kills its child at once. progress, which may be nil,
// hears of pages or chapters done while it runs.
//
// An error is ctx's own, or a *task.Error that says what is wrong with the document, or else a
// fault on our side that another attempt may not meet.
func (e *Extractor) Extract(ctx context.Context, in Input, progress func(done, total int)) (Text, error) {
	answer, err := e.serve(ctx, request{Input: in}, progress)
	if err != nil {
		return Text{}, err
	}
	return answer.Text, nil
}

// Close kills every child, busy ones too. It may be called more than once.
func (e *Extractor) Close() error {
	e.mu.Lock()
	e.closed = true
	children := e.live
	e.live, e.idle = map[*child]struct{}{}, nil
	e.mu.Unlock()
	for c := range children {
		c.kill()
		<-c.exited
	}
	return nil
}

// serve has a request answered by a child. When the child dies of it, a new one gets a second
// chance: the first may have been killed by chance. Dying twice is the document's doing.
func (e *Extractor) serve(ctx context.Context, req request, progress func(done, total int)) (reply, error) {
	select {
	case e.seats <- struct{}{}:
		defer func() { <-e.seats }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return reply{}, ctx.Err()
	}
	answer, err := e.attempt(ctx, e.take(), req, progress)
	if errors.Is(err, errDied) {
		answer, err = e.attempt(ctx, nil, req, progress)
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return reply{}, ctx.Err()
	case errors.Is(err, errDied) && !req.Warm:
		return reply{}, task.Errorf(task.DocumentBroken,
			"reading it crashed the reader twice; save it anew with another program, or send it in another format").Because(err)
	}
	return answer, err
}

// attempt asks c, or a new child when c is nil, and keeps it for the next document if it is fit.
func (e *Extractor) attempt(ctx context.Context, c *child, req request, progress func(done, total int)) (reply, error) {
	if c == nil {
		var err error
		if c, err = e.start(); err != nil {
			return reply{}, err
		}
	}
	answer, err := c.ask(ctx, req, progress)
	e.put(c)
	return answer, err
}

// start makes a child that Close knows about.
func (e *Extractor) start() (*child, error) {
	c, err := startChild(e.options)
	if err != nil {
		return nil, fmt.Errorf("start an extraction process: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		c.kill()
		return nil, errClosed
	}
	e.live[c] = struct{}{}
	return c, nil
}

// take gives a child that waits for work, or nil.
func (e *Extractor) take() *child {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.idle) > 0 {
		last := len(e.idle) - 1
		c := e.idle[last]
		e.idle = e.idle[:last]
		if c.alive() {
			return c
		}
		delete(e.live, c)
	}
	return nil
}

// put takes a child back, and ends it if it is worn out.
func (e *Extractor) put(c *child) {
	fit := c.alive() && c.served < e.options.DocumentsPerChild && c.resident() < e.options.Limits.MemoryBytes/4
	if !fit {
		c.kill()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if fit && !e.closed {
		e.idle = append(e.idle, c)
		return
	}
	delete(e.live, c)
}
