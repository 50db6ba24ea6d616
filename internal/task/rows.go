package task

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// RowSource is the source of the rows: inline, or a file.
type RowSource struct {
	Rows    []json.RawMessage `json:"rows,omitempty" jsonschema:"oneof_required=rows,minItems=1,maxItems=10000,description=the rows themselves: objects or texts"`
	File    *RowFile          `json:"file,omitempty" jsonschema:"oneof_required=file,description=a file of rows"`
	Columns map[string]string `json:"columns,omitempty" jsonschema:"description=other names for columns of the file: theirs to yours"`
}

// RowFile is a file of rows: exactly one of URL and FileID is set.
type RowFile struct {
	URL    string `json:"url,omitempty" jsonschema:"oneof_required=url,format=uri,pattern=^https?://,maxLength=2048,description=a public address to fetch it from"`
	FileID string `json:"file_id,omitempty" jsonschema:"oneof_required=file_id,maxLength=64,description=the id of an uploaded file"`
	Format string `json:"format,omitempty" jsonschema:"enum=jsonl,enum=csv,enum=tsv,enum=json,enum=batch,description=what it is; found out by itself if left out"`
}

// GenerateInput is the input of the kind generate.
type GenerateInput struct {
	RowSource
	Template     string         `json:"template,omitempty" jsonschema:"maxLength=100000,description=the prompt for each row; {{column}} is replaced by what the row has there. Lines of an OpenAI batch need none"`
	System       string         `json:"system,omitempty" jsonschema:"maxLength=100000,description=the system message of every call"`
	OutputSchema map[string]any `json:"output_schema,omitempty" jsonschema:"description=a JSON Schema that every answer must be valid by"`
	N            int            `json:"n,omitempty" jsonschema:"minimum=1,maximum=10,default=1,description=how many answers each row gets"`
	Temperature  *float64       `json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2,description=how freely the model writes; by default as the model has it"`
	MaxTokens    int            `json:"max_tokens,omitempty" jsonschema:"minimum=1,maximum=1000000,description=the longest answer"`
	Output       string         `json:"output,omitempty" jsonschema:"enum=jsonl,enum=csv,default=jsonl,description=the form of the file of results"`
}

// ClassifyInput is the input of the kind classify.
type ClassifyInput struct {
	RowSource
	Text         string  `json:"text,omitempty" jsonschema:"maxLength=100000,description=what is classified of each row; {{column}} is replaced by what the row has there; by default the column text"`
	Labels       []Label `json:"labels" jsonschema:"minItems=2,maxItems=200,description=what there is to choose from"`
	Multi        bool    `json:"multi,omitempty" jsonschema:"default=false,description=whether a row may have several labels"`
	Other        *bool   `json:"other,omitempty" jsonschema:"default=true,description=whether a row may have none of them: it is then called other"`
	Instructions string  `json:"instructions,omitempty" jsonschema:"maxLength=20000,description=what to go by"`
	Pack         int     `json:"pack,omitempty" jsonschema:"minimum=1,maximum=50,default=20,description=how many short rows may share a call"`
	Output       string  `json:"output,omitempty" jsonschema:"enum=jsonl,enum=csv,default=jsonl,description=the form of the file of results"`
}

// Label is a label for rows.
type Label struct {
	Name        string `json:"name" jsonschema:"minLength=1,maxLength=100"`
	Description string `json:"description,omitempty" jsonschema:"maxLength=2000"`
}

// EmbedInput is the input of the kind embed.
type EmbedInput struct {
	RowSource
	Text       string `json:"text,omitempty" jsonschema:"maxLength=100000,description=what is embedded of each row; {{column}} is replaced by what the row has there; by default the column text"`
	Dimensions int    `json:"dimensions,omitempty" jsonschema:"minimum=1,maximum=65536,description=how many numbers a vector has; by default as the model gives them"`
	Unit       bool   `json:"normalize,omitempty" jsonschema:"default=false,description=whether vectors are made one long"`
	Output     string `json:"output,omitempty" jsonschema:"enum=jsonl,enum=parquet,enum=npy,default=jsonl,description=the form of the file of vectors"`
}

// FileIDs returns the uploaded file in the input, by JSON Pointer.
func (s RowSource) FileIDs() map[string]string {
	if s.File == nil || s.File.FileID == "" {
		return map[string]string{}
	}
	return map[string]string{"/input/file/file_id": s.File.FileID}
}

// headline describes the rows in one line, after an action.
func (s RowSource) headline(action string) string {
	switch {
	case s.File == nil:
		return fmt.Sprintf("%s %d rows", action, len(s.Rows))
	case s.File.URL != "":
		return action + " the rows of " + Brief(withoutSecrets(s.File.URL))
	default:
		return action + " the rows of an upload"
	}
}

// Normalize fills in the defaults.
func (in *GenerateInput) Normalize() {
	in.N = cmp.Or(in.N, 1)
	in.Output = cmp.Or(in.Output, "jsonl")
}

// Headline describes the input in one line, for lists of tasks.
func (in *GenerateInput) Headline() string { return in.headline("Generate from") }

// Normalize fills in the defaults.
func (in *ClassifyInput) Normalize() {
	in.Pack = cmp.Or(in.Pack, 20)
	in.Output = cmp.Or(in.Output, "jsonl")
	if in.Text == "" {
		in.Text = "{{text}}"
	}
	if in.Other == nil {
		in.Other = new(true)
	}
}

// Headline describes the input in one line, for lists of tasks.
func (in *ClassifyInput) Headline() string { return in.headline("Classify") }

// Normalize fills in the defaults.
func (in *EmbedInput) Normalize() {
	in.Output = cmp.Or(in.Output, "jsonl")
	if in.Text == "" {
		in.Text = "{{text}}"
	}
}

// Headline describes the input in one line, for lists of tasks.
func (in *EmbedInput) Headline() string { return in.headline("Embed") }
