package task

import "fmt"

// QAMode says how much of the documents is read for an answer.
type QAMode string

// The modes. Auto retrieves, and reads everything for the questions that turn out to need it.
const (
	Auto     QAMode = "auto"
	Retrieve QAMode = "retrieve"
	FullText QAMode = "full"
)

// QAInput is the input of the kind qa: its documents, or the earlier task whose documents and conversation it goes
// on with.
type QAInput struct {
	Documents      []Document `json:"documents,omitempty" jsonschema:"oneof_required=documents,minItems=1,maxItems=500,description=what to look in"`
	PreviousTaskID string     `json:"previous_task_id,omitempty" jsonschema:"oneof_required=previous_task_id,maxLength=64,description=instead of documents: an earlier qa task to go on from\\, with its documents and its conversation"`
	Questions      []string   `json:"questions" jsonschema:"minItems=1,maxItems=500,minLength=1,maxLength=4000,description=what to answer: each question is an item of its own"`
	Mode           QAMode     `json:"mode,omitempty" jsonschema:"enum=auto,enum=retrieve,enum=full,default=auto,description=retrieve reads the passages that fit a question best\\, full reads everything for every question\\, auto decides for each question"`
	Instructions   string     `json:"instructions,omitempty" jsonschema:"maxLength=4000,description=how to answer"`
	Language       string     `json:"language,omitempty" jsonschema:"maxLength=64,description=the language to answer in; by default that of each question"`
}

// Normalize fills in the defaults.
func (in *QAInput) Normalize() {
	if in.Mode == "" {
		in.Mode = Auto
	}
}

// FileIDs gives every uploaded file that the input names, by the JSON Pointer to it.
func (in *QAInput) FileIDs() map[string]string { return FileIDs(in.Documents) }

// Previous names the earlier task that this one goes on from, "" for none, and where the input says so.
func (in *QAInput) Previous() (id, pointer string) {
	return in.PreviousTaskID, "/input/previous_task_id"
}

// Items is how many there will be: each of the questions is one.
func (in *QAInput) Items() int { return len(in.Questions) }

// Headline is the input in a line, for a person who reads a list of tasks.
func (in *QAInput) Headline() string {
	first := Brief(in.Questions[0])
	if n := len(in.Questions); n > 1 {
		return fmt.Sprintf("Answer %d questions: %s", n, first)
	}
	return "Answer: " + first
}
