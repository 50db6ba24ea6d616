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
	// sampleBytes is how much text the guess of a charset looks at.
	sampleBytes = 128 << 10
	// contextBytes is how much of it lies before the first byte that is not ASCII.
	contextBytes = 1 << 10
)

// decoder makes UTF-8 of a file while it is read. UTF-16 shows at once; for anything else the charset is decided by
// what follows the first byte that is not ASCII, wherever in the file that is.
type decoder struct {
	in       *bufio.Reader
	declared string
	out      io.Reader // nil until the charset is known
	charset  string
	begun    bool
	before   []byte // the last contextBytes or more that were read, all of them ASCII
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

// begin looks for a byte order mark, or the zeros of UTF-16.
func (d *decoder) begin() {
	d.begun = true
	head, _ := d.in.Peek(4 << 10) // an error comes again with the next read
	if bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")) {
		_, _ = d.in.Discard(3)
		d.out = d.in
		return
	}
	if _, name := document.Charset(head, d.declared); strings.HasPrefix(name, "utf-16") {
		d.decide()
	}
}

// decide settles the charset by what comes next.
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

// damage says what was lost of a text in decoding; "" when nothing was.
func (d *decoder) damage(text []byte) string {
	if d.charset == "utf-8" {
		if !utf8.Valid(text) {
			return "it is not UTF-8, as the file is elsewhere"
		}
		return ""
	}
	if bytes.Contains(text, []byte("\uFFFD")) {
		return fmt.Sprintf("it holds bytes that are not %s, as the file is elsewhere", d.charset)
	}
	return ""
}
