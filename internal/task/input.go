package task

import (
	"fmt"
	"net/url"
)

// Document is one document of an input: exactly one of URL, FileID and Text.
type Document struct {
	URL    string `json:"url,omitempty" jsonschema:"oneof_required=url,format=uri,pattern=^https?://,maxLength=2048,description=a public address to fetch it from"`
	FileID string `json:"file_id,omitempty" jsonschema:"oneof_required=file_id,maxLength=64,description=the id of an uploaded file"`
	Text   string `json:"text,omitempty" jsonschema:"oneof_required=text,minLength=1,description=the text itself: plain or Markdown"`
	Name   string `json:"name,omitempty" jsonschema:"maxLength=255,description=what to call it in the result"`
	// Password is kept in the bucket, with the input and the papers that workers take their documents from, and nowhere else.
	Password string `json:"password,omitempty" jsonschema:"maxLength=255,description=what opens an encrypted PDF"`
}

// MaxDocuments is the most documents one task takes: beyond it the plan and the item list grow
// past what one page or one workflow should carry.
const MaxDocuments = 5000

// SummaryInput is the input of the kind summary.
type SummaryInput struct {
	Documents    []Document `json:"documents" jsonschema:"minItems=1,maxItems=5000,description=what to summarise: each document gets a summary of its own"`
	Instructions string     `json:"instructions,omitempty" jsonschema:"maxLength=4000,description=what to look for and how to write"`
	Language     string     `json:"language,omitempty" jsonschema:"maxLength=64,description=the language to write in; by default that of each document"`
	Words        int        `json:"words,omitempty" jsonschema:"minimum=20,maximum=2000,default=300,description=the most words of a summary"`
	Digest       bool       `json:"digest,omitempty" jsonschema:"default=false,description=whether to write one summary over all documents as well"`
}

// Normalize fills in the defaults.
func (in *SummaryInput) Normalize() {
	if in.Words == 0 {
		in.Words = 300
	}
}

// FileIDs gives every uploaded file that the input names, by the JSON Pointer to it.
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

// Items is how many there will be: each of the documents is one.
func (in *SummaryInput) Items() int { return len(in.Documents) }

// Headline is the input in a line, for a person who reads a list of tasks.
func (in *SummaryInput) Headline() string {
	first := Brief(in.Documents[0].Label(0))
	if n := len(in.Documents); n > 1 {
		return fmt.Sprintf("Summarise %d documents: %s and %d more", n, first, n-1)
	}
	return "Summarise " + first
}

// Label is what to call the document at an index before it has been read.
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

// Brief cuts a name to what a summary in Temporal's pages can hold: 400 bytes there, with what else
// stands in the line.
func Brief(name string) string {
	const most = 60 // characters, of up to four bytes
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}

// withoutSecrets keeps of an address what may be shown: no user, query or fragment.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
