package document

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"strings"
)

// readText returns plain text unchanged.
func readText(j *job) (Text, error) {
	data, err := j.all()
	if err != nil {
		return Text{}, err
	}
	markup := bytes.HasPrefix(bytes.TrimSpace(data[:min(len(data), 512)]), []byte("<"))
	text, charset := decode(data, j.charset, markup)
	return Text{Markdown: text, Charset: charset}, nil
}

var (
	dataImage = regexp.MustCompile(`!\[([^\]\n]*)\]\(\s*<?data:[^)\s]*[^)\n]*\)`)
	dataURI   = regexp.MustCompile(`(?i)data:[a-z]+/[a-z0-9.+-]+(?:;[a-z0-9=-]+)*;base64,[a-z0-9+/=%]*`)
)

// readMarkdown returns Markdown, including front matter, without embedded data URIs.
func readMarkdown(j *job) (Text, error) {
	text, err := readText(j)
	text.Markdown = dataURI.ReplaceAllString(dataImage.ReplaceAllString(text.Markdown, "$1"), "")
	return text, err
}

// readCSV renders the records as a Markdown table; the first record is the header.
func readCSV(j *job) (Text, error) {
	text, err := readText(j)
	if err != nil {
		return Text{}, err
	}
	records := csv.NewReader(strings.NewReader(strings.TrimSpace(text.Markdown)))
	records.Comma = delimiter(text.Markdown)
	records.FieldsPerRecord, records.LazyQuotes, records.ReuseRecord = -1, true, true
	out := writer{limit: j.limit}
	for n := 0; !out.over(); n++ {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return text, nil // malformed CSV is returned as plain text
		}
		tableRow(&out.Builder, record, n == 0)
	}
	text.Markdown = out.String()
	return text, nil
}

// delimiter returns the usual delimiter that splits the first lines most evenly.
func delimiter(text string) rune {
	lines := strings.SplitN(text, "\n", 12)
	lines = lines[:min(len(lines), 11)]
	best, most := ',', 0
	for _, candidate := range ",;\t|" {
		score := 0
		for _, line := range lines {
			if n := strings.Count(line, string(candidate)); n > 0 && n == strings.Count(lines[0], string(candidate)) {
				score += 100 + min(n, 50)
			}
		}
		if score > most {
			best, most = candidate, score
		}
	}
	return best
}

// tableRow writes a row of a Markdown table, and the separator line after the header.
func tableRow(out *strings.Builder, cells []string, header bool) {
	out.WriteByte('|')
	for _, cell := range cells {
		cell = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`)
		out.WriteString(" " + cell + " |")
	}
	out.WriteByte('\n')
	if header {
		out.WriteString("|" + strings.Repeat(" --- |", len(cells)) + "\n")
	}
}
