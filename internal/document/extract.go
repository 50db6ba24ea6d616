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

// Limits bound the cost of one document. Zero fields take the defaults named beside them.
type Limits struct {
	TextBytes   int64         // extracted text per document; 32 MiB
	MemoryBytes int64         // memory of a child; 1 GiB
	Timeout     time.Duration // reading one document; 2 minutes
}

// Options configure an Extractor. The zero value works.
type Options struct {
	Workers           int    // children that work at the same time; 0 means one per CPU
	CacheDir          string // cache of the compiled PDF engine, about 25 MB; "" means every child compiles it, which takes seconds
	Limits            Limits
	Log               *slog.Logger // nil means no logs
	DocumentsPerChild int          // documents before a child is replaced; 0 means 200
}

// Input is a document to read.
type Input struct {
	Path        string // a local file; it is not changed
	Name        string // file name; its extension chooses between text formats
	ContentType string // as declared by the sender; may be wrong or ""
	Password    string // opens an encrypted PDF; "" means none
}

// Text is the text of a document: valid UTF-8 without control characters, never empty.
type Text struct {
	Markdown string
	Format   string   // pdf, docx, html, epub, markdown, text or csv
	Pages    int      // page count of a PDF; 0 for other formats
	Charset  string   // encoding of a text format, such as gb18030; "" for other formats
	Warnings []string // parts that could not be read

	PageStarts []int // PDF only: byte offset in Markdown of each page; an empty page starts where the next page starts
}

// Extractor reads documents in a pool of child processes. It is safe for concurrent use.
type Extractor struct {
	options Options
	slots   chan struct{} // semaphore of Options.Workers slots

	mu     sync.Mutex
	idle   []*child // a stack: the last used child is used next
	live   map[*child]struct{}
	closed bool
}

// errClosed is returned after Close.
var errClosed = errors.New("document: the extractor is closed")

// NewExtractor returns an Extractor. The first process starts with Warm or the first Extract.
func NewExtractor(options Options) *Extractor {
	options = options.withDefaults()
	return &Extractor{
		options: options,
		slots:   make(chan struct{}, options.Workers),
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

// orElse returns value, or fallback when value is not positive.
func orElse[N int | int64 | time.Duration](value, fallback N) N {
	if value > 0 {
		return value
	}
	return fallback
}

// Warm starts the first child and has it compile the PDF engine into the cache folder, so that no document waits for
// the compilation. Processes that share the folder compile one after the other.
func (e *Extractor) Warm(ctx context.Context) error {
	for range 2 { // compiling takes so much memory that the child is replaced
		if _, err := e.serve(ctx, request{Warm: true}, nil); err != nil {
			return fmt.Errorf("warm the PDF engine: %w", err)
		}
	}
	return nil
}

// Extract reads one document. Cancelling ctx kills its child at once. progress may be nil; it is called with the
// number of pages or chapters done.
//
// The error is ctx.Err(), a *task.Error about the document, or an internal fault that may not recur.
func (e *Extractor) Extract(ctx context.Context, in Input, progress func(done, total int)) (Text, error) {
	answer, err := e.serve(ctx, request{Input: in}, progress)
	if err != nil {
		return Text{}, err
	}
	return answer.Text, nil
}

// Close kills all children, including busy ones. It may be called more than once.
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

// serve passes a request to a child. A child that dies is replaced once, because it may have been killed by accident;
// a second death is blamed on the document.
func (e *Extractor) serve(ctx context.Context, req request, progress func(done, total int)) (reply, error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return reply{}, ctx.Err()
	}
	answer, err := e.attempt(ctx, e.takeIdle(), req, progress)
	if errors.Is(err, errDied) {
		answer, err = e.attempt(ctx, nil, req, progress)
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return reply{}, ctx.Err()
	case errors.Is(err, errDied) && !req.Warm:
		return reply{}, task.Errorf(task.DocumentBroken,
			"the document crashed the reader twice; save it again with another program, or send it in another format").Because(err)
	}
	return answer, err
}

// attempt asks c, or a new child if c is nil, and returns the child to the pool afterwards.
func (e *Extractor) attempt(ctx context.Context, c *child, req request, progress func(done, total int)) (reply, error) {
	if c == nil {
		var err error
		if c, err = e.start(); err != nil {
			return reply{}, err
		}
	}
	answer, err := c.ask(ctx, req, progress)
	e.release(c)
	return answer, err
}

// start starts a child and registers it for Close.
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

// takeIdle returns an idle child, or nil.
func (e *Extractor) takeIdle() *child {
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

// release returns a child to the pool, or kills it if it has died, served its share or holds too much memory.
func (e *Extractor) release(c *child) {
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
