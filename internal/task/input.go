package task

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// Document is a document in an input: exactly one of URL, FileID and Text is set.
type Document struct {
	URL    string `json:"url,omitempty" jsonschema:"oneof_required=url,format=uri,pattern=^https?://,maxLength=2048,description=public address to download from"`
	FileID string `json:"file_id,omitempty" jsonschema:"oneof_required=file_id,maxLength=64,description=the id of an uploaded file"`
	Text   string `json:"text,omitempty" jsonschema:"oneof_required=text,minLength=1,description=the text\\, plain or Markdown"`
	Name   string `json:"name,omitempty" jsonschema:"maxLength=255,description=name in the result"`
	// Password is stored only in the bucket: in the input, and in the manifests from which workers read their
	// documents.
	Password string `json:"password,omitempty" jsonschema:"maxLength=255,description=password of an encrypted PDF"`
}

// MaxDocuments is the maximum number of documents of a task; beyond it plan and item list exceed a page and a
// workflow.
const MaxDocuments = 5000

// SummaryInput is the input of the kind summary.
type SummaryInput struct {
	Documents    []Document `json:"documents" jsonschema:"minItems=1,maxItems=5000,description=documents to summarise: one summary per document"`
	Instructions string     `json:"instructions,omitempty" jsonschema:"maxLength=4000,description=focus and style of the summaries"`
	Language     string     `json:"language,omitempty" jsonschema:"maxLength=64,description=language of the summaries; by default the language of each document"`
	Words        int        `json:"words,omitempty" jsonschema:"minimum=20,maximum=2000,default=300,description=maximum number of words of a summary"`
	Digest       bool       `json:"digest,omitempty" jsonschema:"default=false,description=whether to also write a summary of all documents"`
}

// Normalize fills in the defaults.
func (in *SummaryInput) Normalize() {
	if in.Words == 0 {
		in.Words = 300
	}
}

// FileIDs returns the uploaded files in the input, by JSON Pointer.
func (in *SummaryInput) FileIDs() map[string]string {
	return FileIDs(in.Documents)
}

// FileIDs returns every uploaded file that documents of an input name, by the JSON Pointer to it.
func FileIDs(documents []Document) map[string]string {
	ids := map[string]string{}
	for i, d := range documents {
		if d.FileID != "" {
			ids[fmt.Sprintf("/input/documents/%d/file_id", i)] = d.FileID
		}
	}
	return ids
}

// Items returns the number of items: one per document.
func (in *SummaryInput) Items() int { return len(in.Documents) }

// Headline describes the input in one line, for lists of tasks.
func (in *SummaryInput) Headline() string {
	first := Brief(in.Documents[0].Label(0))
	if n := len(in.Documents); n > 1 {
		return fmt.Sprintf("Summarise %d documents: %s and %d more", n, first, n-1)
	}
	return "Summarise " + first
}

// Label returns the name of the document at an index before it has been read.
func (d Document) Label(index int) string {
	switch {
	case d.Name != "":
		return d.Name
	case d.URL != "":
		return withoutSecrets(d.URL)
	default:
		return fmt.Sprintf("document %d", index+1)
	}
}

// Brief returns a text as one line of at most 60 characters: white space becomes single spaces, and characters that
// control a terminal or the direction of writing are dropped. Temporal limits a workflow summary to 400 bytes.
func Brief(text string) string {
	const most = 60 // characters of up to four bytes
	line := strings.Join(strings.Fields(strings.Map(printable, text)), " ")
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return line
}

// printable keeps white space and drops other control characters.
func printable(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
		return -1
	}
	return r
}

// withoutSecrets returns an address without user, query and fragment.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
