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

// declaration matches the encoding that markup declares for itself.
var declaration = regexp.MustCompile(`(?i)(?:charset\s*=\s*["']?|<\?xml[^>]{0,200}encoding\s*=\s*["'])\s*([a-z0-9._:-]{2,40})`)

// declarationWithin is how many leading bytes of a document are searched for a declared encoding.
const declarationWithin = 64 << 10

// decode converts a text to UTF-8 and returns the encoding it was in. Certain signs come first: a byte order mark, the
// zero bytes of UTF-16, valid UTF-8. Then come the declared encodings, if they fit, and last a statistical guess.
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

// Charset detects the encoding of a text from a sample, by the rules of decode. The sample is the beginning of the
// text, or a piece around its first non-ASCII byte. The encoding is nil for UTF-8; a few damaged bytes do not change
// the result.
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

// mostlyUTF8 reports whether at least 90 % of the non-ASCII characters are valid UTF-8, which does not happen by
// chance in other encodings. A character cut off at the end of the sample does not count.
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

// utf16Order detects UTF-16 by its byte order mark, or by the zero in every second byte of mostly Latin text. It
// returns nil for other data.
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
			long++ // frequent in UTF-32 and in binary numbers
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

// guess names the most likely encoding of a sample around the first non-ASCII byte.
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

// likelier orders guesses by confidence. The detector returns equal guesses in random order, so ties are broken by
// name, the most common charset first; the same text is always decoded the same way.
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

// encodingOf finds an encoding by its name on the web. The whole GB family is decoded as its superset GB18030.
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

// convert decodes data; undecodable bytes become U+FFFD.
func convert(data []byte, enc encoding.Encoding) string {
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		return strings.ToValidUTF8(string(data), "\uFFFD")
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// fits reports whether a decoding lost less than 1 % of the characters.
func fits(text string) bool {
	return strings.Count(text, "\uFFFD")*100 < utf8.RuneCountInString(text)
}
