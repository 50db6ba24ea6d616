package openai

import (
	"bytes"
	"errors"
	"io"
)

// errLongLine is a line over the cap: what sends it is not going to end.
var errLongLine = errors.New("a line is too long")

// lines cuts bytes into lines, ended by LF, CRLF, CR or the end of the bytes. Lines are handed out
// as they come in, whatever the reads in between, so a character split over two reads stays whole.
type lines struct {
	src     io.Reader
	max     int    // the longest line, in bytes
	mem     []byte // what buf is a part of
	buf     []byte // read and not handed out
	clean   int    // bytes of buf that are known to hold no line end
	afterCR bool   // an LF that comes now belongs to the line before
	err     error  // what src ended with
}

// next gives the next line without its end. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		if line, ok := l.cut(); ok {
			return line, nil
		}
		switch {
		case errors.Is(l.err, io.EOF) && len(l.buf) > 0:
			return l.take(len(l.buf), 0), nil
		case l.err != nil:
			return nil, l.err
		case len(l.buf) > l.max:
			return nil, errLongLine
		}
		l.fill()
	}
}

// cut takes a line if buf holds a whole one.
func (l *lines) cut() ([]byte, bool) {
	if l.afterCR && len(l.buf) > 0 {
		l.afterCR = false
		if l.buf[0] == '\n' {
			l.take(1, 0)
		}
	}
	end := lineEnd(l.buf[l.clean:])
	if end < 0 {
		l.clean = len(l.buf)
		return nil, false
	}
	end += l.clean
	l.afterCR = l.buf[end] == '\r'
	return l.take(end, 1), true
}

// take hands out n bytes and drops those of the line's end after them.
func (l *lines) take(n, end int) []byte {
	line := l.buf[:n:n]
	l.buf, l.clean = l.buf[n+end:], 0
	return line
}

// fill reads once. It may move the buffer, so what was handed out before is not valid any more.
func (l *lines) fill() {
	if cap(l.buf)-len(l.buf) < 2<<10 {
		if len(l.buf) > cap(l.mem)/2 || l.mem == nil {
			l.mem = make([]byte, max(4<<10, 2*cap(l.mem)))
		}
		l.buf = l.mem[:copy(l.mem, l.buf)]
	}
	n, err := l.src.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf, l.err = l.buf[:len(l.buf)+n], err
}

// start gives the first n bytes that are not white space, fewer only if there are no more, and
// leaves them to be read.
func (l *lines) start(n int) ([]byte, error) {
	for {
		l.buf = bytes.TrimLeft(bytes.TrimPrefix(l.buf, []byte("\ufeff")), " \t\r\n")
		switch {
		case len(l.buf) >= n:
			return l.buf[:n], nil
		case errors.Is(l.err, io.EOF):
			return l.buf, nil
		case l.err != nil:
			return nil, l.err
		}
		l.fill()
	}
}

// rest reads everything that is left, up to the longest line.
func (l *lines) rest() ([]byte, error) {
	for l.err == nil && len(l.buf) <= l.max {
		l.fill()
	}
	switch {
	case len(l.buf) > l.max:
		return nil, errLongLine
	case !errors.Is(l.err, io.EOF):
		return nil, l.err
	}
	return l.buf, nil
}

// lineEnd finds the first LF or CR, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
