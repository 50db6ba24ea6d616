package translate

import (
	"fmt"

	"longhaul/internal/task"
)

// Input is the input of the kind translate.
type Input struct {
	Documents    []task.Document `json:"documents" jsonschema:"minItems=1,maxItems=5000,description=what to translate: each document gets a translation of its own"`
	Language     string          `json:"language" jsonschema:"minLength=2,maxLength=64,description=the language to translate into\\, such as German or zh-CN"`
	Instructions string          `json:"instructions,omitempty" jsonschema:"maxLength=4000,description=tone\\, terms to use and terms to leave as they are"`
}

// Normalize does nothing: there are no defaults.
func (in *Input) Normalize() {}

// FileIDs returns every uploaded file that the input names, by the JSON Pointer to it.
func (in *Input) FileIDs() map[string]string { return task.FileIDs(in.Documents) }

// Items is the number of items: one for each document.
func (in *Input) Items() int { return len(in.Documents) }

// Headline describes the input in one line.
func (in *Input) Headline() string {
	first := task.Brief(in.Documents[0].Label(0))
	if n := len(in.Documents); n > 1 {
		return fmt.Sprintf("Translate %d documents into %s: %s and %d more", n, task.Brief(in.Language), first, n-1)
	}
	return fmt.Sprintf("Translate %s into %s", first, task.Brief(in.Language))
}
