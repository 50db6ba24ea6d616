package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// events is the body that go-openai reads: one `data: {...}` line for each chunk and nothing else,
// whatever the provider sent. What is not a chunk ends it with an *llm.Error.
type events struct {
	x     *exchange
	body  io.Closer
	lines lines

	opened bool   // the first bytes have told what the body is
	ended  bool   // nothing follows out
	name   []byte // of the event that is being taken in
	data   []byte // of the event that is being taken in
	out    []byte // clean lines
	ready  []byte // the part of out that was not read yet
}

func newEvents(x *exchange, body io.ReadCloser) *events {
	return &events{x: x, body: body, lines: lines{src: &source{x, body}, max: maxEvent}}
}

// Read gives the next bytes of clean lines.
func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 {
		if e.ended {
			return 0, io.EOF
		}
		e.out = e.out[:0]
		if err := e.advance(); err != nil {
			return 0, e.explain(err)
		}
		e.ready = e.out
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// Close closes the provider's body.
func (e *events) Close() error { return e.body.Close() }

func (e *events) explain(err error) error {
	if errors.Is(err, errLongLine) {
		return e.x.fail(llm.Final, task.BadResponse, "one event of the answer is larger than %d MiB", maxEvent>>20)
	}
	return err
}

// advance reads until there is a chunk, an end or an error.
func (e *events) advance() error {
	if !e.opened {
		return e.open()
	}
	for {
		line, err := e.lines.next()
		if errors.Is(err, io.EOF) {
			e.ended = true // the last event needs no blank line after it
			return e.dispatch()
		}
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return e.dispatch()
		}
		if err := e.field(line); err != nil || len(e.out) > 0 {
			return err
		}
	}
}

// open looks at the first bytes: a provider may answer with JSON, or a page, although a stream was
// asked for, and its content type may say otherwise.
func (e *events) open() error {
	first, err := e.lines.start(len("event:"))
	if err != nil {
		return err
	}
	e.opened = true
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(first, []byte(field)) {
			return nil
		}
	}
	e.ended = true
	body, err := e.lines.rest()
	if err != nil {
		return err
	}
	if body = bytes.TrimSpace(body); !bytes.HasPrefix(body, []byte("{")) {
		return e.x.oddity(body)
	}
	if f := read(body); f.told {
		return e.x.said(f)
	}
	e.emit(body)
	return nil
}

// field takes one line of an event. Comments, ids and retry times are of no use to us.
func (e *events) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.name = append(e.name[:0], value...)
	case "data":
		return e.append(value)
	}
	return nil
}

// append adds a data line to the event. A line of JSON that is whole cannot be continued by another,
// so the two are events of a provider that leaves out the blank line in between.
func (e *events) append(value []byte) error {
	if len(e.data)+len(value) > maxEvent {
		return errLongLine
	}
	if len(e.data) == 0 {
		e.data = append(e.data, value...)
		return nil
	}
	if json.Valid(e.data) {
		err := e.dispatch()
		e.data = append(e.data, value...)
		return err
	}
	e.data = append(append(e.data, '\n'), value...)
	return nil
}

// dispatch ends the event that was being read.
func (e *events) dispatch() error {
	data, name := bytes.TrimSpace(e.data), string(e.name)
	e.data, e.name = e.data[:0], e.name[:0]
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		e.drain()
		return nil
	case name == "error":
		return e.x.said(e.x.complaint(data))
	case data[0] != '{':
		return e.x.oddity(data)
	case suspect(data):
		if f := read(data); f.told {
			return e.x.said(f)
		}
	}
	e.emit(data)
	return nil
}

// suspect reports whether a chunk may tell of an error, so that only those are parsed for it: inside
// a string the quotes of "error" would be escaped.
func suspect(data []byte) bool {
	return bytes.Contains(data, []byte(`"error"`)) || !bytes.Contains(data, []byte(`"choices"`))
}

// emit makes a chunk ready to be read, on one line: raw line ends in JSON are white space.
func (e *events) emit(data []byte) {
	e.out = append(e.out, "data: "...)
	if bytes.HasPrefix(data, []byte(`{"error":`)) {
		e.out = append(e.out, "{ "...) // go-openai takes a line that begins so for an error, even a null one
		data = data[1:]
	}
	from := len(e.out)
	e.out = append(e.out, data...)
	for i, b := range e.out[from:] {
		if b == '\n' || b == '\r' {
			e.out[from+i] = ' '
		}
	}
	e.out = append(e.out, '\n')
}

// drain reads the end of the body after the end mark, so that the connection can be used again.
func (e *events) drain() {
	e.ended = true
	e.x.hurry(afterDone)
	_, _ = io.CopyN(io.Discard, e.lines.src, 4<<10) // an error here is one of the connection, not of the answer
}
