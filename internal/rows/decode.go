package rows

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"

	"longhaul/internal/document"
)

const (
	// sampleBytes is the size of the sample for charset detection.
	sampleBytes = 128 << 10
	// contextBytes is the part of the sample before the first non-ASCII byte.
	contextBytes = 1 << 10
)

// decoder converts a file to UTF-8 while it is read. UTF-16 is detected at the start; any other charset is detected at
// the first non-ASCII byte, wherever that is.
type decoder struct {
	in       *bufio.Reader
	declared string
	out      io.Reader // nil until the charset is known
	charset  string
	begun    bool
	before   []byte // at least the last contextBytes read, all ASCII
}

func newDecoder(in io.Reader, declared string) *decoder {
	return &decoder{in: bufio.NewReaderSize(in, sampleBytes), declared: declared, charset: "utf-8"}
}

// Read implements io.Reader.
func (d *decoder) Read(p []byte) (int, error) {
	if !d.begun {
		d.begin()
	}
	if d.out != nil {
		return d.out.Read(p)
	}
	if _, err := d.in.Peek(1); err != nil {
		return 0, err
	}
	ready, _ := d.in.Peek(d.in.Buffered())
	ascii := bytes.IndexFunc(ready, func(r rune) bool { return r >= utf8.RuneSelf })
	switch {
	case ascii < 0:
		ascii = len(ready)
	case ascii == 0:
		d.decide()
		return d.out.Read(p)
	}
	n, err := d.in.Read(p[:min(ascii, len(p))])
	d.before = append(d.before, p[max(n-contextBytes, 0):n]...)
	if extra := len(d.before) - contextBytes; extra > 4*contextBytes {
		d.before = append(d.before[:0], d.before[extra:]...)
	}
	return n, err
}

// begin detects UTF-16 by a byte order mark or its zero bytes.
func (d *decoder) begin() {
	d.begun = true
	head, _ := d.in.Peek(4 << 10) // an error recurs at the next read
	if bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")) {
		_, _ = d.in.Discard(3)
		d.out = d.in
		return
	}
	if _, name := document.Charset(head, d.declared); strings.HasPrefix(name, "utf-16") {
		d.decide()
	}
}

// decide detects the charset from the following bytes.
func (d *decoder) decide() {
	sample, _ := d.in.Peek(sampleBytes)
	before := d.before[max(len(d.before)-contextBytes, 0):]
	enc, name := document.Charset(append(before, sample...), d.declared)
	d.out, d.charset = d.in, name
	d.before = nil
	if enc != nil {
		d.out = transform.NewReader(d.in, enc.NewDecoder())
	}
}

// damage describes what a text lost in decoding; "" if nothing.
func (d *decoder) damage(text []byte) string {
	if d.charset == "utf-8" {
		if !utf8.Valid(text) {
			return "the row is not valid UTF-8, unlike the rest of the file"
		}
		return ""
	}
	if bytes.Contains(text, []byte("\uFFFD")) {
		return fmt.Sprintf("the row contains bytes that are not %s, unlike the rest of the file", d.charset)
	}
	return ""
}
