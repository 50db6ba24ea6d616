package document

import (
	"fmt"
	"io"
	"os"
	"strings"

	"longhaul/internal/task"
)

// The formats that can be read.
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

// job is one document on its way to text.
type job struct {
	Input
	format   string
	charset  string // declared beside the document; may be wrong, or ""
	file     *os.File
	size     int64 // of the file, in bytes
	limit    int64 // of the text, in bytes
	engine   *pdfEngine
	progress func(done, total int)
}

// reader takes the text out of one format. Its errors are *task.Error, or faults on our side.
type reader func(*job) (Text, error)

func readers() map[string]reader {
	return map[string]reader{
		formatPDF: readPDF, formatDOCX: readDOCX, formatHTML: readHTML, formatEPUB: readEPUB,
		formatMarkdown: readMarkdown, formatText: readText, formatCSV: readCSV,
	}
}

// read finds out what a document is, reads it, and holds the result to what Text promises.
func (s *server) read(in Input) (Text, error) {
	file, err := os.Open(in.Path)
	if err != nil {
		return Text{}, fmt.Errorf("open the document: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return Text{}, fmt.Errorf("look at the document: %w", err)
	}
	if info.Size() == 0 {
		return Text{}, task.Errorf(task.DocumentEmpty, "the file has 0 bytes; send one with text in it")
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

// finish cleans a text and refuses one that says nothing or too much.
func finish(text Text, limit int64) (Text, error) {
	text.Markdown = clean(text.Markdown)
	switch {
	case blank(text.Markdown):
		return Text{}, task.Errorf(task.DocumentEmpty, "there is nothing in it but white space")
	case int64(len(text.Markdown)) > limit:
		return Text{}, tooMuchText(limit)
	}
	for i, warning := range text.Warnings {
		text.Warnings[i] = clean(warning)
	}
	return text, nil
}

func tooMuchText(limit int64) error {
	return task.Errorf(task.DocumentTooLarge, "it holds more text than the limit of %s; split it", size(limit))
}

// all reads the whole file, if it can hold a text within the limit. The most wasteful encoding of
// text, UTF-16, takes two bytes for one of UTF-8; markup may take as much again.
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

// writer collects a text up to a limit; over says that the limit was met.
type writer struct {
	strings.Builder
	limit int64
}

func (w *writer) over() bool { return int64(w.Len()) > w.limit }
