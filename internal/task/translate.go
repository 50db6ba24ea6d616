package task

import (
	"fmt"
)

// TranslateInput is the input of the kind translate.
type TranslateInput struct {
	Documents    []Document `json:"documents" jsonschema:"minItems=1,maxItems=5000,description=what to translate: each document gets a translation of its own"`
	Language     string     `json:"language" jsonschema:"minLength=2,maxLength=64,description=the language to translate into\\, such as German or zh-CN"`
	Instructions string     `json:"instructions,omitempty" jsonschema:"maxLength=4000,description=tone\\, terms to use and terms to leave as they are"`
}

// Normalize does nothing: there are no defaults.
func (in *TranslateInput) Normalize() {}

// FileIDs returns every uploaded file that the input names, by the JSON Pointer to it.
func (in *TranslateInput) FileIDs() map[string]string { return FileIDs(in.Documents) }

// Items is the number of items: one for each document.
func (in *TranslateInput) Items() int { return len(in.Documents) }

// Headline describes the input in one line.
func (in *TranslateInput) Headline() string {
	first := Brief(in.Documents[0].Label(0))
	if n := len(in.Documents); n > 1 {
		return fmt.Sprintf("Translate %d documents into %s: %s and %d more", n, Brief(in.Language), first, n-1)
	}
	return fmt.Sprintf("Translate %s into %s", first, Brief(in.Language))
}
