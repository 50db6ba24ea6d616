package document

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// declaration finds the encoding that markup names for itself.
var declaration = regexp.MustCompile(`(?i)(?:charset\s*=\s*["']?|<\?xml[^>]{0,200}encoding\s*=\s*["'])\s*([a-z0-9._:-]{2,40})`)

// declarationWithin is how far into a document, in bytes, it may name its encoding.
const declarationWithin = 64 << 10

// decode makes UTF-8 of a text and names the encoding it was in. What is certain comes first: a
// byte order mark, the zeros of UTF-16, valid UTF-8; then what the sender or the markup claims, if
// it fits; then a guess from the statistics of the bytes.
func decode(data []byte, declared string, markup bool) (text, charset string) {
	if rest, ok := bytes.CutPrefix(data, []byte("\xEF\xBB\xBF")); ok {
		return strings.ToValidUTF8(string(rest), "\uFFFD"), "utf-8"
	}
	if enc := utf16Order(data); enc != nil {
		return convert(data, enc), "utf-16"
	}
	if utf8.Valid(data) {
		return string(data), "utf-8"
	}
	claims := []string{declared}
	if markup {
		if m := declaration.FindSubmatch(data[:min(len(data), declarationWithin)]); m != nil {
			claims = append(claims, string(m[1]))
		}
	}
	for _, claim := range append(claims, guess(data)) {
		if enc, name := encodingOf(claim); enc != nil {
			if text := convert(data, enc); fits(text) {
				return text, name
			}
		}
	}
	return convert(data, charmap.Windows1252), "windows-1252"
}

// Charset tells by the rules of decode which encoding a text is in, of which sample is the beginning, or a piece around
// its first byte that is not ASCII. The encoding is nil for UTF-8, which may be damaged here and there: one bad line must not
// make another language of the others.
func Charset(sample []byte, declared string) (encoding.Encoding, string) {
	if enc := utf16Order(sample); enc != nil {
		return enc, "utf-16"
	}
	if mostlyUTF8(sample) {
		return nil, "utf-8"
	}
	for _, claim := range []string{declared, guess(sample)} {
		enc, name := encodingOf(claim)
		switch {
		case enc == nil || !fits(convert(sample, enc)):
		case name == "utf-8":
			return nil, name
		default:
			return enc, name
		}
	}
	return charmap.Windows1252, "windows-1252"
}

// mostlyUTF8 reports whether nine in ten of the characters that are not ASCII are UTF-8, which no other encoding
// is by chance. A character that the sample was cut in does not count.
func mostlyUTF8(sample []byte) bool {
	right, wrong := 0, 0
	for len(sample) > 0 {
		r, size := utf8.DecodeRune(sample)
		switch {
		case r == utf8.RuneError && size == 1:
			if !utf8.FullRune(sample) {
				return wrong*9 <= right
			}
			wrong++
		case r >= utf8.RuneSelf:
			right++
		}
		sample = sample[size:]
	}
	return wrong*9 <= right
}

// utf16Order tells UTF-16 by its mark, or by the zeros that every second byte of mostly Latin text
// is. It is nil for anything else.
func utf16Order(data []byte) encoding.Encoding {
	head := data[:min(len(data), 4096)]
	switch {
	case len(head) < 4:
		return nil
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM)
	}
	var zeros [2]int
	var long int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	for i := 0; i+3 < len(head); i += 4 {
		if binary.LittleEndian.Uint32(head[i:]) < 0x110000 || binary.BigEndian.Uint32(head[i:]) < 0x110000 {
			long++ // what UTF-32, or a file of numbers, is full of
		}
	}
	half := len(head) / 2
	switch {
	case long > half/4:
		return nil
	case zeros[1] > half*2/5 && zeros[0] <= half/20:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case zeros[0] > half*2/5 && zeros[1] <= half/20:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// guess names the likeliest encoding of a sample around the first byte that is not ASCII.
func guess(data []byte) string {
	const before, sample = 1 << 10, 128 << 10
	first := max(bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf }), before)
	data = data[first-before:]
	likely, err := chardet.NewTextDetector().DetectAll(data[:min(len(data), sample)])
	if err != nil {
		return ""
	}
	return slices.MinFunc(likely, likelier).Charset
}

// likelier orders guesses. Those that are as good as each other come in random order: then the most common charset
// is taken, so that a text is the same whenever it is read.
func likelier(a, b chardet.Result) int {
	const common = "GB-18030"
	switch {
	case a.Confidence != b.Confidence:
		return b.Confidence - a.Confidence
	case a.Charset == common || b.Charset != common && a.Charset < b.Charset:
		return -1
	}
	return 1
}

// encodingOf finds an encoding by a name the web knows. All of the GB family is read as its
// superset GB18030.
func encodingOf(name string) (encoding.Encoding, string) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "":
		return nil, ""
	case "gb2312", "gbk", "gb18030", "gb-18030", "gb_2312", "gb_2312-80", "cp936", "ms936", "windows-936", "x-gbk", "euc-cn", "hz-gb-2312":
		return simplifiedchinese.GB18030, "gb18030"
	}
	enc, err := htmlindex.Get(name)
	if err != nil || enc == encoding.Replacement {
		return nil, ""
	}
	if canonical, err := htmlindex.Name(enc); err == nil {
		name = canonical
	}
	return enc, name
}

// convert decodes all of data; what cannot be decoded becomes U+FFFD.
func convert(data []byte, enc encoding.Encoding) string {
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return strings.ToValidUTF8(string(data), "\uFFFD")
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// fits reports whether a decoding went well: under one character in a hundred was lost.
func fits(text string) bool {
	return strings.Count(text, "\uFFFD")*100 < utf8.RuneCountInString(text)
}
