package document

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"longhaul/internal/task"
)

// chinese is long enough to detect its encoding from its bytes.
const chinese = "茶园依山而建，层层叠叠，清晨的雾气沿着山谷缓缓升起。采茶的人天不亮就出门，赶在太阳晒干露水之前摘下第一芽。"

func encoded(t testing.TB, enc encoding.Encoding, text string) []byte {
	t.Helper()
	out, err := enc.NewEncoder().String(text)
	require.NoError(t, err)
	return []byte(out)
}

// zipped returns a zip archive of parts given as name, content, name, content …
func zipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		require.NoError(t, err)
		_, err = io.WriteString(w, parts[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return out.Bytes()
}

func TestTextFormats(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   Input
		data []byte
		want Text
	}{
		"plain":                {Input{Name: "a.txt"}, []byte("one\r\ntwo\r\n\r\n\r\n\r\nthree\x07  \n"), Text{Markdown: "one\ntwo\n\nthree", Format: "text", Charset: "utf-8"}},
		"no name, no type":     {Input{}, []byte("just words"), Text{Markdown: "just words", Format: "text", Charset: "utf-8"}},
		"BOM":                  {Input{Name: "a.txt"}, []byte("\xEF\xBB\xBFwords"), Text{Markdown: "words", Format: "text", Charset: "utf-8"}},
		"UTF-16 without BOM":   {Input{Name: "a.txt"}, encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "tides and lamps"), Text{Markdown: "tides and lamps", Format: "text", Charset: "utf-16"}},
		"UTF-16 with BOM":      {Input{Name: "a.txt"}, encoded(t, unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "茶园与雾"), Text{Markdown: "茶园与雾", Format: "text", Charset: "utf-16"}},
		"GBK":                  {Input{Name: "a.txt"}, encoded(t, simplifiedchinese.GBK, chinese), Text{Markdown: chinese, Format: "text", Charset: "gb18030"}},
		"GBK, short, declared": {Input{ContentType: "text/plain; charset=gb2312"}, encoded(t, simplifiedchinese.GBK, "茶园"), Text{Markdown: "茶园", Format: "text", Charset: "gb18030"}},
		"Big5":                 {Input{Name: "a.txt"}, encoded(t, traditionalchinese.Big5, strings.Repeat("茶園依山而建，清晨的霧氣緩緩升起。", 3)), Text{Markdown: strings.Repeat("茶園依山而建，清晨的霧氣緩緩升起。", 3), Format: "text", Charset: "big5"}},
		"Shift JIS":            {Input{Name: "a.txt"}, encoded(t, japanese.ShiftJIS, strings.Repeat("朝の霧が谷をゆっくりと昇っていく。", 4)), Text{Markdown: strings.Repeat("朝の霧が谷をゆっくりと昇っていく。", 4), Format: "text", Charset: "shift_jis"}},
		"UTF-8 called Latin":   {Input{Name: "a.txt", ContentType: "text/plain; charset=iso-8859-1"}, []byte("café"), Text{Markdown: "café", Format: "text", Charset: "utf-8"}},
		"one bad byte":         {Input{Name: "a.txt", ContentType: "text/plain; charset=utf-8"}, []byte(chinese + chinese + chinese + "\xff"), Text{Markdown: chinese + chinese + chinese + "\uFFFD", Format: "text", Charset: "utf-8"}},
		"Latin-1":              {Input{Name: "a.txt"}, []byte("un caf\xe9 tr\xe8s serr\xe9, s'il vous pla\xeet, pour le gardien du phare"), Text{Markdown: "un café très serré, s'il vous plaît, pour le gardien du phare", Format: "text", Charset: "windows-1252"}},
		"Markdown":             {Input{Name: "a.md"}, []byte("---\ntitle: T\n---\n# H\n\n![pic](data:image/png;base64,AAAA) text"), Text{Markdown: "---\ntitle: T\n---\n# H\n\npic text", Format: "markdown", Charset: "utf-8"}},
		"Markdown by type":     {Input{ContentType: "text/markdown"}, []byte("<p>a</p>"), Text{Markdown: "<p>a</p>", Format: "markdown", Charset: "utf-8"}},
		"CSV":                  {Input{Name: "a.csv"}, []byte("name,height\n\"Lamp, old\",12\nPier|2,\"3\n4\"\n"), Text{Markdown: "| name | height |\n| --- | --- |\n| Lamp, old | 12 |\n| Pier\\|2 | 3 4 |", Format: "csv", Charset: "utf-8"}},
		"CSV, semicolons":      {Input{Name: "a.csv"}, []byte("n;h\na,b;1,5\nc;2,5\n"), Text{Markdown: "| n | h |\n| --- | --- |\n| a,b | 1,5 |\n| c | 2,5 |", Format: "csv", Charset: "utf-8"}},
		"HTML, whole page":     {Input{Name: "a.html"}, []byte("<html><body><h1>Hi</h1><p>A <a href='http://x'>link</a> &amp; <img src=x alt=pic>more<script>no()</script></p></body></html>"), Text{Markdown: "# Hi\n\nA link & more", Format: "html", Charset: "utf-8"}},
		"HTML, late charset":   {Input{Name: "a.html"}, append([]byte("<html><head><!--"+strings.Repeat(" ", 3000)+"--><meta charset=gb2312></head><body><p>"), append(encoded(t, simplifiedchinese.GBK, "茶园"), "</p>"...)...), Text{Markdown: "茶园", Format: "html", Charset: "gb18030"}},
		"HTML, very deep":      {Input{Name: "a.html"}, []byte(strings.Repeat("<div>", 2000) + "deep words"), Text{Markdown: "deep words", Format: "html", Charset: "utf-8"}},
		"HTML, ruby":           {Input{Name: "a.html"}, []byte("<p><ruby>山路<rp>(</rp><rt>やまみち</rt><rp>)</rp></ruby>を</p>"), Text{Markdown: "山路を", Format: "html", Charset: "utf-8"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := extract(t, tt.in, tt.data)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestHTMLMainContent(t *testing.T) {
	t.Parallel()
	story := strings.Repeat("<p>The keeper climbs the stair each evening, trims the wick, winds the clockwork, and notes the weather in a book that nobody will read for years.</p>", 8)
	page := "<html><head><title>The Keeper</title></head><body><nav><a href=/>Home</a> <a href=/b>Basket</a></nav><article><h2>Evening</h2>" + story +
		"</article><footer>Cookies and imprint</footer></body></html>"
	got, err := extract(t, Input{Name: "story.html"}, []byte(page))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(got.Markdown, "# The Keeper\n"), got.Markdown)
	require.Contains(t, got.Markdown, "trims the wick")
	require.NotContains(t, got.Markdown, "Basket")
	require.NotContains(t, got.Markdown, "imprint")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ole := "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("\x00", 600)
	tests := map[string]struct {
		in     Input
		data   []byte
		code   task.Code
		detail string
	}{
		"zero bytes":       {Input{}, nil, task.DocumentEmpty, "0 bytes"},
		"white space":      {Input{Name: "a.txt"}, []byte(" \n\t\u200b\n"), task.DocumentEmpty, "white space"},
		"PNG called text":  {Input{Name: "a.txt", ContentType: "text/plain"}, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00"), task.DocumentUnsupported, "image/png"},
		"program":          {Input{Name: "a.pdf"}, []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00"), task.DocumentUnsupported, supported},
		"RTF":              {Input{}, []byte(`{\rtf1\ansi words}`), task.DocumentUnsupported, "text/rtf"},
		"zip":              {Input{Name: "a.docx"}, zipped(t, "a.txt", "x"), task.DocumentUnsupported, "application/zip"},
		"zip, cut":         {Input{Name: "a.docx"}, zipped(t, "word/document.xml", "<p/>")[:80], task.DocumentBroken, "cut short"},
		"presentation":     {Input{Name: "a.docx"}, zipped(t, "[Content_Types].xml", "", "ppt/presentation.xml", "<p/>"), task.DocumentUnsupported, "PPTX"},
		"workbook":         {Input{}, zipped(t, "[Content_Types].xml", "", "xl/workbook.xml", "<p/>"), task.DocumentUnsupported, "XLSX"},
		"encrypted Office": {Input{Name: "a.docx"}, []byte(ole + string(utf16Bytes("EncryptedPackage"))), task.PasswordRequired, "Office document is encrypted"},
		"old Word":         {Input{Name: "a.doc"}, []byte(ole), task.DocumentUnsupported, "old Office"},
		"too much text":    {Input{Name: "a.txt"}, bytes.Repeat([]byte("a"), 1<<20+1), task.DocumentTooLarge, "limit of 1 MiB"},
		"far too much":     {Input{Name: "a.txt"}, bytes.Repeat([]byte("a"), 4<<20+1), task.DocumentTooLarge, "limit of 1 MiB"},
		"CSV that grows":   {Input{Name: "a.csv"}, bytes.Repeat([]byte(",\n"), 400_000), task.DocumentTooLarge, "limit of 1 MiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := extract(t, tt.in, tt.data)
			require.Error(t, err)
			require.Equal(t, tt.code, task.AsError(err).Code, "%v", err)
			require.Contains(t, task.AsError(err).Detail, tt.detail)
		})
	}
}

const (
	wordNamespace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"`
	wordStyles    = `<w:styles ` + wordNamespace + `><w:style w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>` +
		`<w:style w:styleId="Mine"><w:basedOn w:val="H1"/></w:style><w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style></w:styles>`
	wordLists = `<w:numbering ` + wordNamespace + `><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>` +
		`<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>` +
		`<w:num w:numId="7"><w:abstractNumId w:val="0"/></w:num></w:numbering>`
)

func wordDocument(t testing.TB, body string, more ...string) []byte {
	t.Helper()
	parts := append([]string{
		"word/document.xml", `<?xml version="1.0"?><w:document ` + wordNamespace + `><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml", wordStyles, "word/numbering.xml", wordLists,
	}, more...)
	return zipped(t, parts...)
}

func TestDOCX(t *testing.T) {
	t.Parallel()
	item := func(level, text string) string {
		return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="7"/></w:numPr></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
	}
	tests := map[string]struct{ body, want string }{
		"runs":        {`<w:p><w:r><w:t>Hel</w:t></w:r><w:r><w:t>lo</w:t><w:tab/><w:t>you</w:t><w:br/><w:t>there</w:t></w:r></w:p>`, "Hello\tyou\nthere"},
		"heading":     {`<w:p><w:pPr><w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p><w:p><w:r><w:t>x</w:t></w:r></w:p>`, "# Title\n\nx"},
		"style loop":  {`<w:p><w:pPr><w:pStyle w:val="Loop"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>`, "x"},
		"tracked":     {`<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>`, "new"},
		"list":        {item("0", "a") + item("1", "b") + item("1", "c") + item("0", "d") + item("1", "e"), "3. a\n\n  3.1 b\n\n  3.2 c\n\n4. d\n\n  4.1 e"},
		"table":       {`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc><w:tc><w:tbl><w:tr><w:tc><w:p><w:r><w:t>in</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`, "| a b | in |\n| --- | --- |"},
		"alternative": {`<w:p><mc:AlternateContent><mc:Choice><w:r><w:t>once</w:t></w:r></mc:Choice><mc:Fallback><w:r><w:t>twice</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`, "once"},
		"text box":    {`<w:p><w:r><w:t>be</w:t></w:r><w:r><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></w:r><w:r><w:t>fore</w:t></w:r></w:p>`, "before\n\nbox"},
		"field":       {`<w:p><w:r><w:instrText>PAGEREF</w:instrText></w:r><w:r><w:t>12</w:t></w:r></w:p>`, "12"},
		"entity":      {`<w:p><w:r><w:t>a&nbsp;b &unknown; c</w:t></w:r></w:p>`, "a\u00a0b &unknown; c"},
		"note":        {`<w:p><w:r><w:t>text</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>`, "text[^2]\n\n[^2]: foot"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var more []string
			if name == "note" {
				more = []string{"word/footnotes.xml", `<w:footnotes ` + wordNamespace + `><w:footnote w:type="separator" w:id="0"><w:p><w:r><w:t>---</w:t></w:r></w:p></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>foot</w:t></w:r></w:p></w:footnote></w:footnotes>`}
			}
			got, err := extract(t, Input{Name: "wrong.pdf", ContentType: "application/pdf"}, wordDocument(t, tt.body, more...))
			require.NoError(t, err)
			require.Equal(t, Text{Markdown: tt.want, Format: "docx"}, got)
		})
	}
}

func TestDOCX_refusals(t *testing.T) {
	t.Parallel()
	page := `<w:p><w:r><w:t>words</w:t></w:r></w:p>`
	tests := map[string]struct {
		data []byte
		code task.Code
	}{
		"no main part":  {zipped(t, "word/styles.xml", wordStyles), task.DocumentBroken},
		"nothing in it": {wordDocument(t, ""), task.DocumentEmpty},
		"pictures only": {wordDocument(t, "", "word/media/image1.png", "x"), task.NoText},
		"bomb":          {wordDocument(t, page, "word/footnotes.xml", strings.Repeat(" ", 2<<20+1)), task.DocumentTooComplex},
		"bombs":         {wordDocument(t, page+strings.Repeat(" ", 2<<20-1000), "word/footnotes.xml", strings.Repeat(" ", 2<<20-1000), "word/endnotes.xml", strings.Repeat(" ", 2<<20-1000), "word/comments.xml", strings.Repeat(" ", 2<<20-1000), "word/_rels/document.xml.rels", strings.Repeat(" ", 2<<20-1000)), task.DocumentTooComplex},
		"very deep":     {wordDocument(t, strings.Repeat("<w:sdt>", 5000)+page), task.DocumentTooComplex},
		"much text":     {wordDocument(t, strings.Repeat(`<w:p><w:r><w:t>`+strings.Repeat("words ", 1000)+`</w:t></w:r></w:p>`, 200)), task.DocumentTooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := extract(t, Input{}, tt.data)
			require.Error(t, err)
			require.Equal(t, tt.code, task.AsError(err).Code, "%v", err)
		})
	}
	cut, err := extract(t, Input{}, zipped(t, "word/document.xml", `<w:document `+wordNamespace+`><w:body>`+page+`<w:p><w:r><w:t>mo`))
	require.NoError(t, err)
	require.Equal(t, "words\n\nmo", cut.Markdown)
}

// book returns an EPUB of two chapters in reverse order of their names.
func book(t testing.TB, more ...string) []byte {
	t.Helper()
	return zipped(t, append([]string{
		"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>`,
		"OPS/book.opf", `<package><metadata><title>A Book &eacute;</title></metadata><manifest>
			<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
			<item id="one" href="text/ch%201.xhtml" media-type="application/xhtml+xml"/>
			<item id="two" href="text/ch2.xhtml" media-type="application/xhtml+xml"/></manifest>
			<spine><itemref idref="nav"/><itemref idref="two"/><itemref idref="one"/></spine></package>`,
		"OPS/nav.xhtml", `<html><body>Contents</body></html>`,
		"OPS/text/ch 1.xhtml", `<html><head><title/></head><body><a id="x"/><p>First <img src="a.png"/></p></body></html>`,
		"OPS/text/ch2.xhtml", `<html><head><script src="a"/></head><body><h1>Second</h1></body></html>`,
	}, more...)...)
}

func TestEPUB(t *testing.T) {
	t.Parallel()
	got, err := extract(t, Input{}, book(t))
	require.NoError(t, err)
	require.Equal(t, Text{Markdown: "# A Book é\n\n# Second\n\nFirst", Format: "epub"}, got)

	_, err = extract(t, Input{}, book(t, epubEncryption, `<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></EncryptedData></encryption>`))
	require.NoError(t, err, "fonts may be obfuscated")

	_, err = extract(t, Input{}, book(t, epubEncryption, `<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></EncryptedData></encryption>`))
	require.Equal(t, task.PasswordRequired, task.AsError(err).Code)

	_, err = extract(t, Input{}, zipped(t, epubContainer, "<container/>"))
	require.Equal(t, task.DocumentBroken, task.AsError(err).Code)
}

func FuzzText(f *testing.F) {
	f.Add([]byte("words"), "a.txt")
	f.Add([]byte("\xFF\xFEw\x00o\x00"), "a.html")
	f.Add([]byte("<p>x<table><tr><td>"), "a.html")
	f.Add([]byte("a;\"b\n;c"), "a.csv")
	f.Add([]byte("![](data:x"), "a.md")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		text, err := extract(t, Input{Name: name}, data)
		if err == nil {
			requireClean(t, text.Markdown)
		}
	})
}

func FuzzDOCX(f *testing.F) {
	f.Add(`<w:p><w:r><w:t>x</w:t></w:r></w:p><w:tbl><w:tr><w:tc/></w:tr></w:tbl>`)
	f.Add(`<w:tc><w:tr><w:p><w:txbxContent><w:p/></w:txbxContent>`)
	f.Fuzz(func(t *testing.T, body string) {
		text, err := extract(t, Input{}, wordDocument(t, body))
		if err == nil {
			requireClean(t, text.Markdown)
		}
	})
}

func requireClean(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text))
	require.False(t, blank(text))
	for _, r := range text {
		require.False(t, r != '\n' && r != '\t' && dropped(r), "%U", r)
	}
}
