package task

import "fmt"

// QAMode says how much of the documents is read for an answer.
type QAMode string

// The modes. Auto retrieves passages, and reads everything for questions that need it.
const (
	Auto     QAMode = "auto"
	Retrieve QAMode = "retrieve"
	FullText QAMode = "full"
)

// QAInput is the input of the kind qa: documents, or an earlier task whose documents and conversation are continued.
type QAInput struct {
	Documents      []Document `json:"documents,omitempty" jsonschema:"oneof_required=documents,minItems=1,maxItems=500,description=documents to read"`
	PreviousTaskID string     `json:"previous_task_id,omitempty" jsonschema:"oneof_required=previous_task_id,maxLength=64,description=instead of documents: id of an earlier qa task to continue\\, with its documents and conversation"`
	Questions      []string   `json:"questions" jsonschema:"minItems=1,maxItems=500,minLength=1,maxLength=4000,description=questions to answer: one item per question"`
	Mode           QAMode     `json:"mode,omitempty" jsonschema:"enum=auto,enum=retrieve,enum=full,default=auto,description=retrieve reads the most relevant passages\\, full reads all documents for every question\\, auto decides per question"`
	Instructions   string     `json:"instructions,omitempty" jsonschema:"maxLength=4000,description=style of the answers"`
	Language       string     `json:"language,omitempty" jsonschema:"maxLength=64,description=language of the answers; by default the language of each question"`
}

// Normalize fills in the defaults.
func (in *QAInput) Normalize() {
	if in.Mode == "" {
		in.Mode = Auto
	}
}

// FileIDs returns the uploaded files in the input, by JSON Pointer.
func (in *QAInput) FileIDs() map[string]string { return FileIDs(in.Documents) }

// Previous returns the id of the earlier task that is continued, or "", and its JSON Pointer in the input.
func (in *QAInput) Previous() (id, pointer string) {
	return in.PreviousTaskID, "/input/previous_task_id"
}

// Items returns the number of items: one per question.
func (in *QAInput) Items() int { return len(in.Questions) }

// Headline describes the input in one line, for lists of tasks.
func (in *QAInput) Headline() string {
	first := Brief(in.Questions[0])
	if n := len(in.Questions); n > 1 {
		return fmt.Sprintf("Answer %d questions: %s", n, first)
	}
	return "Answer: " + first
}
