package document

import (
	"fmt"
	"io"
	"os"
	"strings"

	"longhaul/internal/task"
)

// The supported formats.
const (
	formatPDF      = "pdf"
	formatDOCX     = "docx"
	formatHTML     = "html"
	formatEPUB     = "epub"
	formatMarkdown = "markdown"
	formatText     = "text"
	formatCSV      = "csv"
)

// supported names the formats in errors.
const supported = "PDF, DOCX, HTML, EPUB, Markdown, plain text and CSV"

// job is a document being read.
type job struct {
	Input
	format   string
	charset  string // declared by the sender; may be wrong or ""
	file     *os.File
	size     int64 // file size in bytes
	limit    int64 // text limit in bytes
	engine   *pdfEngine
	progress func(done, total int)
}

// reader extracts the text of one format. Its errors are *task.Error, or internal faults.
type reader func(*job) (Text, error)

func readers() map[string]reader {
	return map[string]reader{
		formatPDF: readPDF, formatDOCX: readDOCX, formatHTML: readHTML, formatEPUB: readEPUB,
		formatMarkdown: readMarkdown, formatText: readText, formatCSV: readCSV,
	}
}

// read identifies a document, extracts its text and cleans it.
func (s *server) read(in Input) (Text, error) {
	file, err := os.Open(in.Path)
	if err != nil {
		return Text{}, fmt.Errorf("open the document: %w", err)
	}
	defer func() { _ = file.Close() }() // read-only: closing loses no data
	info, err := file.Stat()
	if err != nil {
		return Text{}, fmt.Errorf("stat the document: %w", err)
	}
	if info.Size() == 0 {
		return Text{}, task.Errorf(task.DocumentEmpty, "the file has 0 bytes; send a file with text")
	}
	j := &job{Input: in, file: file, size: info.Size(), limit: s.settings.TextBytes, engine: &s.engine, progress: s.progress}
	if err := s.identify(j); err != nil {
		return Text{}, err
	}
	text, err := s.readers[j.format](j)
	if err != nil {
		return Text{}, err
	}
	text.Format = j.format
	return finish(text, j.limit)
}

// finish cleans a text and refuses empty or too long text.
func finish(text Text, limit int64) (Text, error) {
	text.Markdown = clean(text.Markdown)
	switch {
	case blank(text.Markdown):
		return Text{}, task.Errorf(task.DocumentEmpty, "the document contains only white space; send a document with text")
	case int64(len(text.Markdown)) > limit:
		return Text{}, tooMuchText(limit)
	}
	for i, warning := range text.Warnings {
		text.Warnings[i] = clean(warning)
	}
	return text, nil
}

func tooMuchText(limit int64) error {
	return task.Errorf(task.DocumentTooLarge, "the document has more text than the limit of %s; split it", size(limit))
}

// all reads the whole file if its text can be within the limit: UTF-16 takes up to two bytes per byte of UTF-8, and
// markup may double that.
func (j *job) all() ([]byte, error) {
	if j.size > 4*j.limit {
		return nil, tooMuchText(j.limit)
	}
	data, err := io.ReadAll(io.NewSectionReader(j.file, 0, j.size))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return data, nil
}

// writer collects a text up to a limit; over reports whether the limit is exceeded.
type writer struct {
	strings.Builder
	limit int64
}

func (w *writer) over() bool { return int64(w.Len()) > w.limit }
