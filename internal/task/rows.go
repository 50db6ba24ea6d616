package task

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// RowSource is the source of the rows: inline, or a file.
type RowSource struct {
	Rows    []json.RawMessage `json:"rows,omitempty" jsonschema:"oneof_required=rows,minItems=1,maxItems=10000,description=inline rows: objects or texts"`
	File    *RowFile          `json:"file,omitempty" jsonschema:"oneof_required=file,description=a file of rows"`
	Columns map[string]string `json:"columns,omitempty" jsonschema:"description=new names of columns\\, by their name in the file"`
}

// RowFile is a file of rows: exactly one of URL and FileID is set.
type RowFile struct {
	URL    string `json:"url,omitempty" jsonschema:"oneof_required=url,format=uri,pattern=^https?://,maxLength=2048,description=public address to download from"`
	FileID string `json:"file_id,omitempty" jsonschema:"oneof_required=file_id,maxLength=64,description=the id of an uploaded file"`
	Format string `json:"format,omitempty" jsonschema:"enum=jsonl,enum=csv,enum=tsv,enum=json,enum=batch,description=file format; by default detected"`
}

// GenerateInput is the input of the kind generate.
type GenerateInput struct {
	RowSource
	Template     string         `json:"template,omitempty" jsonschema:"maxLength=100000,description=prompt for each row; {{column}} is replaced by the value of the row. Not needed for lines of an OpenAI batch"`
	System       string         `json:"system,omitempty" jsonschema:"maxLength=100000,description=the system message of every call"`
	OutputSchema map[string]any `json:"output_schema,omitempty" jsonschema:"description=JSON Schema of every answer"`
	N            int            `json:"n,omitempty" jsonschema:"minimum=1,maximum=10,default=1,description=number of answers per row"`
	Temperature  *float64       `json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2,description=sampling temperature; by default the model's"`
	MaxTokens    int            `json:"max_tokens,omitempty" jsonschema:"minimum=1,maximum=1000000,description=maximum number of tokens of an answer"`
	Output       string         `json:"output,omitempty" jsonschema:"enum=jsonl,enum=csv,default=jsonl,description=format of the result file"`
}

// ClassifyInput is the input of the kind classify.
type ClassifyInput struct {
	RowSource
	Text         string  `json:"text,omitempty" jsonschema:"maxLength=100000,description=text to classify; {{column}} is replaced by the value of the row; by default the column text"`
	Labels       []Label `json:"labels" jsonschema:"minItems=2,maxItems=200,description=labels to choose from"`
	Multi        bool    `json:"multi,omitempty" jsonschema:"default=false,description=whether a row may have several labels"`
	Other        *bool   `json:"other,omitempty" jsonschema:"default=true,description=whether a row may match no label: it then gets the label other"`
	Instructions string  `json:"instructions,omitempty" jsonschema:"maxLength=20000,description=rules for choosing labels"`
	Pack         int     `json:"pack,omitempty" jsonschema:"minimum=1,maximum=50,default=20,description=maximum number of short rows per call"`
	Output       string  `json:"output,omitempty" jsonschema:"enum=jsonl,enum=csv,default=jsonl,description=format of the result file"`
}

// Label is a label for rows.
type Label struct {
	Name        string `json:"name" jsonschema:"minLength=1,maxLength=100"`
	Description string `json:"description,omitempty" jsonschema:"maxLength=2000"`
}

// EmbedInput is the input of the kind embed.
type EmbedInput struct {
	RowSource
	Text       string `json:"text,omitempty" jsonschema:"maxLength=100000,description=text to embed; {{column}} is replaced by the value of the row; by default the column text"`
	Dimensions int    `json:"dimensions,omitempty" jsonschema:"minimum=1,maximum=65536,description=dimensions of the vectors; by default the model's"`
	Unit       bool   `json:"normalize,omitempty" jsonschema:"default=false,description=whether vectors are scaled to length 1"`
	Output     string `json:"output,omitempty" jsonschema:"enum=jsonl,enum=parquet,enum=npy,default=jsonl,description=format of the vector file"`
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
