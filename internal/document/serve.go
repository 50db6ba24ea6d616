package document

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"longhaul/internal/task"
)

// progressPause is the minimum time between two progress replies.
const progressPause = 200 * time.Millisecond

// ServeIfChild must be the first call in every main and TestMain of a program that extracts documents. In a process
// started by an Extractor it serves documents and never returns; in any other process it returns at once.
func ServeIfChild() { serveIfChild(identify, readers()) }

func serveIfChild(identify func(*job) error, readers map[string]reader) {
	config, ok := os.LookupEnv(childVariable)
	if !ok {
		return
	}
	out := os.Stdout
	os.Stdout = os.Stderr // the pipe carries only replies, whatever a library prints
	s := server{identify: identify, readers: readers, replies: gob.NewEncoder(out)}
	if err := s.serve(config, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers requests until the parent closes the pipe. It does not recover panics: they end this process, and the
// parent handles that.
func (s *server) serve(config string, in io.Reader) error {
	if err := json.Unmarshal([]byte(config), &s.settings); err != nil {
		return fmt.Errorf("settings of an extraction process: %w", err)
	}
	if err := limitAddressSpace(s.settings.MemoryBytes); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	s.engine.cacheDir = s.settings.CacheDir
	for req := range incoming(in) {
		if err := s.replies.Encode(s.answer(req)); err != nil {
			return err
		}
	}
	return nil
}

// incoming reads requests concurrently with the work, so that the parent's end is noticed during a request.
func incoming(in io.Reader) <-chan request {
	requests := make(chan request)
	go func() {
		decoder := gob.NewDecoder(in)
		for {
			var req request
			if err := decoder.Decode(&req); err != nil {
				os.Exit(0) // the parent has exited or closed the pipe
			}
			requests <- req
		}
	}()
	return requests
}

// server is the child side of an extraction process.
type server struct {
	settings     settings
	identify     func(*job) error // sets a job's format
	readers      map[string]reader
	engine       pdfEngine
	replies      *gob.Encoder
	lastProgress time.Time
}

func (s *server) answer(req request) reply {
	if req.Warm {
		return failure(s.engine.ready())
	}
	text, err := s.read(req.Input)
	if err != nil {
		return failure(err)
	}
	return reply{Last: true, Text: text}
}

// failure returns the last reply for err; a nil err gives an empty last reply.
func failure(err error) reply {
	if err == nil {
		return reply{Last: true}
	}
	if e, ok := errors.AsType[*task.Error](err); ok {
		return reply{Last: true, Code: e.Code, Detail: e.Detail}
	}
	return reply{Last: true, Fault: err.Error()}
}

// progress reports progress to the parent, at most every progressPause.
func (s *server) progress(done, total int) {
	if time.Since(s.lastProgress) < progressPause {
		return
	}
	s.lastProgress = time.Now()
	_ = s.replies.Encode(reply{Done: done, Total: total}) // a lost parent ends this process soon
}
