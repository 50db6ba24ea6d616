package document

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"longhaul/internal/task"
)

// extensions choose between text formats, whose content looks alike.
var extensions = map[string]string{
	".md": formatMarkdown, ".markdown": formatMarkdown, ".mdown": formatMarkdown, ".mkd": formatMarkdown,
	".html": formatHTML, ".htm": formatHTML, ".xhtml": formatHTML,
	".csv": formatCSV, ".tsv": formatCSV,
	".txt": formatText, ".text": formatText, ".log": formatText,
}

// mediaTypes choose where the extension does not.
var mediaTypes = map[string]string{
	"text/markdown": formatMarkdown, "text/x-markdown": formatMarkdown,
	"text/html": formatHTML, "application/xhtml+xml": formatHTML,
	"text/csv": formatCSV, "text/tab-separated-values": formatCSV, "application/csv": formatCSV,
}

// textButNot lists text-based types whose source is not readable text.
var textButNot = []string{"text/rtf", "image/svg+xml"}

// identify detects the format from the content. The name and then the declared type only choose between text formats:
// a PDF called page.html is a PDF.
func identify(j *job) error {
	head := make([]byte, 4096)
	n, err := j.file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read the document: %w", err)
	}
	head = head[:n]
	found := mimetype.Detect(head)
	switch {
	case found.Is("application/pdf"), bytes.Contains(head[:min(n, 1024)], []byte("%PDF-")):
		j.format = formatPDF
	case found.Is("application/x-ole-storage") || bytes.HasPrefix(head, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")):
		return identifyOLE(j)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return identifyZip(j, found)
	case isText(found) || isUnknownText(found, head, j):
		return identifyText(j, found)
	default:
		return unsupported(found.String())
	}
	return nil
}

func unsupported(found string) error {
	return task.Errorf(task.DocumentUnsupported, "the document looks like %s; supported are %s", found, supported)
}

// identifyOLE distinguishes an encrypted DOCX, stored as a stream in an OLE file, from old Office formats.
func identifyOLE(j *job) error {
	const most = 64 << 20
	data, err := io.ReadAll(io.NewSectionReader(j.file, 0, min(j.size, most)))
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	if bytes.Contains(data, utf16Bytes("EncryptedPackage")) {
		return task.Errorf(task.PasswordRequired, "the Office document is encrypted; send it without a password")
	}
	return unsupported("a document of an old Office version (such as .doc, .xls, .ppt); save it as DOCX or PDF")
}

func utf16Bytes(ascii string) []byte {
	out := make([]byte, 0, 2*len(ascii))
	for i := range len(ascii) {
		out = append(out, ascii[i], 0)
	}
	return out
}

// identifyZip distinguishes zip-based formats by their parts: Office and EPUB files are zip archives.
func identifyZip(j *job, found *mimetype.MIME) error {
	archive, err := zip.NewReader(j.file, j.size)
	if err != nil {
		return task.Errorf(task.DocumentBroken, "the zip archive (DOCX and EPUB files are zip archives) is damaged or cut short; upload it again").Because(err)
	}
	for _, f := range archive.File {
		switch name := strings.TrimPrefix(f.Name, "/"); {
		case strings.HasPrefix(name, "word/"):
			j.format = formatDOCX
			return nil
		case name == epubContainer:
			j.format = formatEPUB
			return nil
		case strings.HasPrefix(name, "ppt/"):
			return unsupported("a presentation (PPTX); save it as PDF")
		case strings.HasPrefix(name, "xl/"):
			return unsupported("a workbook (XLSX); save its sheets as CSV")
		}
	}
	if found.Is("application/vnd.openxmlformats-officedocument.wordprocessingml.document") {
		j.format = formatDOCX
		return nil
	}
	return unsupported(found.String())
}

// isText reports whether a detected type is plain text or derived from it.
func isText(found *mimetype.MIME) bool {
	for m := found; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}

// isUnknownText reports whether data of no known type is text: UTF-16 without a byte order mark, or a legacy encoding
// that the name or the declared type marks as text.
func isUnknownText(found *mimetype.MIME, head []byte, j *job) bool {
	if !found.Is("application/octet-stream") {
		return false
	}
	if utf16Order(head) != nil {
		return true
	}
	media, _, _ := mime.ParseMediaType(j.ContentType)
	named := extensions[strings.ToLower(path.Ext(j.Name))] != "" || strings.HasPrefix(media, "text/")
	return named && !bytes.Contains(head, []byte{0})
}

// identifyText chooses between text formats.
func identifyText(j *job, found *mimetype.MIME) error {
	for _, no := range textButNot {
		if found.Is(no) {
			return unsupported(no)
		}
	}
	media, params, _ := mime.ParseMediaType(j.ContentType)
	sniffed, _, _ := mime.ParseMediaType(found.String())
	j.charset = params["charset"]
	for _, format := range []string{extensions[strings.ToLower(path.Ext(j.Name))], mediaTypes[media], mediaTypes[sniffed]} {
		if format != "" {
			j.format = format
			return nil
		}
	}
	j.format = formatText
	return nil
}
