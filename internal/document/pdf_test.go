package document

import (
	"bytes"
	"compress/flate"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// pdfExtractor returns an Extractor whose PDF engine is compiled.
func pdfExtractor(t testing.TB, limits Limits) *Extractor {
	t.Helper()
	compiled(t)
	return newExtractor(t, Options{Workers: 1, CacheDir: engineCache(), Limits: limits})
}

// engineCache is the cache folder of the compiled engine, kept between test runs.
func engineCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "longhaul-test")
}

// compiled makes sure that the engine is in the cache. Under the race detector compiling takes minutes, so another
// process of this test, built without the detector, compiles it.
func compiled(t testing.TB) {
	t.Helper()
	compiling.Lock()
	defer compiling.Unlock()
	found, err := filepath.Glob(filepath.Join(engineCache(), "wazero-*", "*"))
	require.NoError(t, err)
	if !raceDetector || len(found) > 0 {
		return
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-count=1", "-run=^TestWarm$", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// compiling serializes compiled.
var compiling sync.Mutex

func TestWarm(t *testing.T) {
	t.Parallel()
	e := pdfExtractor(t, Limits{})
	require.NoError(t, e.Warm(t.Context()))
	require.Len(t, e.idle, 1, "the first child waits for work")
	require.NoError(t, e.Warm(t.Context()), "a second Warm must succeed")
}

// pdfFile writes objects as a PDF file. The first is the catalogue. encrypt refers to the encryption dictionary, or is
// "".
func pdfFile(objects []string, encrypt string) []byte {
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(objects))
	for i, object := range objects {
		offsets[i] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	if encrypt != "" {
		encrypt = "/Encrypt " + encrypt + " /ID [<" + strings.Repeat("00", 16) + "> <" + strings.Repeat("00", 16) + ">]"
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, encrypt, start)
	return out.Bytes()
}

func pdfStream(dictionary string, data []byte) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), dictionary, data)
}

// pdfPages returns a PDF with one page per content stream. extra is added to each page; objects are appended and
// numbered from 4 + 2 × len(contents).
func pdfPages(contents []string, extra string, objects ...string) []byte {
	const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
	var kids []string
	all := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", font}
	for i, content := range contents {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
		all = append(all,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R %s >>", 5+2*i, extra),
			pdfStream("", []byte(content)))
	}
	all[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	return pdfFile(append(all, objects...), "")
}

// show returns a content stream that writes lines.
func show(lines ...string) string {
	return "BT /F 12 Tf 14 TL 50 700 Td (" + strings.Join(lines, ") Tj T* (") + ") Tj ET"
}

func TestPDF(t *testing.T) {
	t.Parallel()
	e := pdfExtractor(t, Limits{})
	require.NoError(t, e.Warm(testContext(t)))
	picture := func(content string) []byte {
		image := pdfStream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", []byte{0x80})
		pages := string(pdfPages([]string{content + " q 600 0 0 700 0 0 cm /I Do Q"}, "", image))
		return []byte(strings.ReplaceAll(pages, "/Resources << ", "/Resources << /XObject << /I 6 0 R >> "))
	}
	long := "The keeper of the lamp writes down the weather each evening and so each"
	tests := map[string]struct {
		data     []byte
		password string
		want     Text
		code     task.Code
		detail   string
	}{
		"a page":         {data: pdfPages([]string{show("Hello, world!")}, ""), want: Text{Markdown: "Hello, world!", Pages: 1}},
		"pages":          {data: pdfPages([]string{show("One."), show("Two.")}, ""), want: Text{Markdown: "One.\n\nTwo.", Pages: 2}},
		"lines":          {data: pdfPages([]string{show("Weather", long, "morning. Then", "the end")}, ""), want: Text{Markdown: "Weather\n" + long + " morning. Then\nthe end", Pages: 1}},
		"junk before it": {data: append([]byte("junk\n"), pdfPages([]string{show("Hello")}, "")...), want: Text{Markdown: "Hello", Pages: 1}},
		"form field": {
			data: pdfPages([]string{show("Name:")}, "/Annots [6 0 R]",
				"<< /Type /Annot /Subtype /Widget /FT /Tx /T (n) /V (Ada) /Rect [200 690 400 715] /F 4 /P 4 0 R /AP << /N 7 0 R >> >>",
				pdfStream("/Type /XObject /Subtype /Form /BBox [0 0 200 25] /Resources << /Font << /F 3 0 R >> >>", []byte("BT /F 12 Tf 2 8 Td (Ada) Tj ET"))),
			want: Text{Markdown: "Name:\nAda", Pages: 1},
		},
		"no text":       {data: pdfPages([]string{"0 0 100 100 re f"}, ""), code: task.NoText, detail: "OCR"},
		"scan":          {data: picture(show("p. 3")), code: task.NoText, detail: "OCR"},
		"picture":       {data: picture(show(long)), want: Text{Markdown: long, Pages: 1}},
		"not one":       {data: []byte("%PDF-1.4\nnothing at all"), code: task.DocumentBroken, detail: "cannot be opened"},
		"owner only":    {data: lockedPDF("", "boss"), want: Text{Markdown: "Secret words", Pages: 1}},
		"locked":        {data: lockedPDF("sesame", "boss"), code: task.PasswordRequired, detail: "is encrypted; supply"},
		"wrong key":     {data: lockedPDF("sesame", "boss"), password: "simsim", code: task.PasswordRequired, detail: "does not open the PDF"},
		"right key":     {data: lockedPDF("sesame", "boss"), password: "sesame", want: Text{Markdown: "Secret words", Pages: 1}},
		"far too many":  {data: manyPages(60_000), code: task.DocumentTooComplex, detail: "the limit is 50000"},
		"circular tree": {data: pdfFile([]string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 3 >>"}, ""), code: task.DocumentBroken, detail: "none of the pages"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := e.Extract(testContext(t), Input{Path: file(t, "d", tt.data), Password: tt.password}, nil)
			if tt.code != "" {
				require.Error(t, err)
				require.Equal(t, tt.code, task.AsError(err).Code, "%v", err)
				require.Contains(t, task.AsError(err).Detail, tt.detail)
				require.NotContains(t, err.Error(), "simsim")
				return
			}
			require.NoError(t, err)
			tt.want.Format = "pdf"
			require.Len(t, got.PageStarts, got.Pages)
			got.PageStarts = nil
			require.Equal(t, tt.want, got)
		})
	}
}

// The start of each page in the text stays correct when text before it is cleaned away.
func TestPDFPages(t *testing.T) {
	t.Parallel()
	e := pdfExtractor(t, Limits{})
	data := pdfPages([]string{show("The first page says little.", "", "", "", "And ends."), "", show("The third page has more to say."), show("The fourth.")}, "")
	text, err := e.Extract(testContext(t), Input{Path: file(t, "pages.pdf", data)}, nil)
	require.NoError(t, err)
	require.Len(t, text.PageStarts, 4)
	for page, begins := range []string{"The first page", "The third page", "The third page", "The fourth."} {
		require.True(t, strings.HasPrefix(text.Markdown[text.PageStarts[page]:], begins), "page %d of %q", page+1, text.Markdown)
	}
}

func TestCleanPages(t *testing.T) {
	t.Parallel()
	text := "one\x00 \r\n\n\n\nmore\n\n\f\n\n  \ntwo\n\n"
	got, starts := cleanPages(text, []int{0, 16, 18, 18, len(text)})
	require.Equal(t, "one\n\nmore\n\ntwo", got)
	require.Equal(t, got, clean(got), "cleaning again changes nothing")
	require.Equal(t, "two", got[starts[3]:])
	require.Equal(t, []int{0, 11, 11, 11, 14}, starts)
}

func TestPDFBombs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		times   int
		timeout time.Duration
		detail  string
	}{
		"600 MB of white space": {strings.Repeat(" ", 1<<20), 600, time.Minute, "more memory than"},
		"endless operators":     {strings.Repeat("BT /F 1 Tf (aaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ET\n", 10_000), 40, 500 * time.Millisecond, "longer than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := pdfFile([]string{
				"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
				"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F 5 0 R >> >> /Contents 4 0 R >>",
				pdfStream("/Filter /FlateDecode", inflating(t, tt.content, tt.times)), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
			}, "")
			e := pdfExtractor(t, Limits{})
			require.NoError(t, e.Warm(testContext(t)))
			e.idle[0].limits.Timeout = tt.timeout
			_, err := e.Extract(testContext(t), Input{Path: file(t, "d", data)}, nil)
			require.Error(t, err)
			require.Equal(t, task.DocumentTooComplex, task.AsError(err).Code, "%v", err)
			require.Contains(t, task.AsError(err).Detail, tt.detail)
		})
	}
}

// inflating returns a zlib stream of a block repeated many times; the block is compressed only twice.
func inflating(t *testing.T, block string, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("\x78\x9c")
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	require.NoError(t, err)
	var second int // start of the second block, which refers only to the first
	for range 2 {
		second = out.Len()
		_, err := w.Write([]byte(block))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	again := bytes.Clone(out.Bytes()[second:])
	out.Write(bytes.Repeat(again, times-2))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// manyPages declares n pages that share one content.
func manyPages(n int) []byte {
	return pdfFile([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Repeat("3 0 R ", n), n),
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 10 10] >>",
	}, "")
}

// lockedPDF returns a PDF that says "Secret words", encrypted as in PDF 1.1. An empty user password permits reading
// and forbids changes.
func lockedPDF(user, owner string) []byte {
	const permissions = -64
	cipher := func(key, data []byte) []byte {
		c, err := rc4.NewCipher(key)
		if err != nil {
			panic(err)
		}
		out := make([]byte, len(data))
		c.XORKeyStream(out, data)
		return out
	}
	digest := func(n int, parts ...[]byte) []byte {
		sum := md5.Sum(bytes.Join(parts, nil))
		return sum[:n]
	}
	padding := []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")
	pad := func(password string) []byte { return append([]byte(password), padding...)[:32] }
	flags := binary.LittleEndian.AppendUint32(nil, uint32(0x100000000+permissions))
	ownerEntry := cipher(digest(5, pad(owner)), pad(user))
	key := digest(5, pad(user), ownerEntry, flags, make([]byte, 16))
	const content = 5 // number of the encrypted object
	stream := cipher(digest(10, key, []byte{content, 0, 0, 0, 0}), []byte(show("Secret words")))
	return pdfFile([]string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> >> /Contents 5 0 R >>",
		pdfStream("", stream),
		fmt.Sprintf("<< /Filter /Standard /V 1 /R 2 /O <%x> /U <%x> /P %d >>", ownerEntry, cipher(key, padding), permissions),
	}, "6 0 R")
}

func TestReflow(t *testing.T) {
	t.Parallel()
	wide := "为了让句子完整地留在一起，页面上的行要在这里"
	require.Equal(t, wide+"接着读下去。\n标题\n"+wide, reflow(wide+"\n接着读下去。\n标题\n"+wide))
	require.Equal(t, "compile and re-\nEnter", mendHyphens("com\x02pile and re\x02\nEnter"))
}
