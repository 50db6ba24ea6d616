package rows

import (
	"bytes"
	"encoding/json"
	"mime"
	"path"
	"strings"

	"longhaul/internal/task"
)

// Format is a file format for rows.
type Format string

// Formats of Read.
const (
	JSONL Format = "jsonl" // one row per line: an object, a text, or a line of an OpenAI batch
	JSON  Format = "json"  // one array of objects or texts
	CSV   Format = "csv"   // a table with a header
	TSV   Format = "tsv"   // a table with a header, separated by tabs
)

var formatOfType = map[string]Format{
	"application/jsonl": JSONL, "application/x-jsonl": JSONL, "application/x-ndjson": JSONL, "application/ndjson": JSONL,
	"application/jsonlines": JSONL, "application/x-jsonlines": JSONL, "application/json": JSON,
	"text/csv": CSV, "application/csv": CSV, "text/tab-separated-values": TSV,
}

var formatOfName = map[string]Format{".jsonl": JSONL, ".ndjson": JSONL, ".json": JSON, ".csv": CSV, ".tsv": TSV, ".tab": TSV}

// notText lists the first bytes of binary files that users may send instead of a table.
var notText = map[string]string{
	"PK\x03\x04": "a ZIP archive, such as an Excel workbook", "\xD0\xCF\x11\xE0": "an old Excel workbook",
	"\x1F\x8B": "compressed with gzip", "PAR1": "Parquet", "%PDF": "a PDF", "\x28\xB5\x2F\xFD": "compressed with Zstandard",
}

// format determines the format of the file. A declared format that contradicts the first bytes is ignored: an array is
// not JSONL, whatever the name.
func (r *reader) format() (Format, error) {
	begin, _ := r.text.in.Peek(4)
	for magic, what := range notText {
		if bytes.HasPrefix(begin, []byte(magic)) {
			return "", task.Errorf(task.WrongMedia, "the file is %s; send it as text: CSV, TSV, JSONL or a JSON array", what)
		}
	}
	if r.opts.Format != "" {
		return r.opts.Format, nil
	}
	head, _ := r.in.Peek(r.in.Size())
	said := r.said()
	if said == CSV || said == TSV {
		return said, nil
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	first, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("[")):
		return JSON, nil
	case said != "" || len(head) == 0 || head[0] == '{' || head[0] == '"' && json.Valid(first):
		return JSONL, nil
	case r.delimiter() != 0:
		return CSV, nil
	}
	return "", task.Errorf(task.WrongMedia,
		"the file is neither JSON nor a table with two columns; name it .csv or .jsonl, or set its content type")
}

// said returns the format by content type, or else by name.
func (r *reader) said() Format {
	if kind, _, err := mime.ParseMediaType(r.opts.ContentType); err == nil && formatOfType[kind] != "" {
		return formatOfType[kind]
	}
	return formatOfName[strings.ToLower(path.Ext(r.opts.Name))]
}
