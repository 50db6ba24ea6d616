package qa

import (
	"context"
	"errors"
	"fmt"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// OpenRequest asks to make the texts of a qa task ready for questions. Read says how its documents came out; it is
// empty for a task that goes on from an earlier one.
type OpenRequest struct {
	Task     record.TaskRef `json:"task,omitzero"`
	InputKey string         `json:"input_key,omitempty"`
	Read     []ReadOutcome  `json:"read,omitempty"`
}

// ReadOutcome is what became of a document: its error, nil if it was read.
type ReadOutcome struct {
	Label string      `json:"label,omitempty"`
	Error *task.Error `json:"error,omitempty"`
}

// QAPlan is how a qa task is worked on. It is small, whatever the texts are.
type QAPlan struct {
	Questions int         `json:"questions,omitempty"`
	Mode      task.QAMode `json:"mode,omitempty"`
	Whole     bool        `json:"whole,omitempty"`   // all texts together fit into one call
	Parts     []int       `json:"parts,omitempty"`   // where the parts of the texts end, in passages: each fits into one call
	Room      int         `json:"room,omitempty"`    // tokens of text in one call
	Vectors   [][]Leaf    `json:"vectors,omitempty"` // vectors that are yet to be had, by call
	Queue     string      `json:"queue,omitempty"`   // of calls for vectors
	Kept      []int       `json:"kept,omitempty"`    // questions whose answers are kept of the task that is run again
}

// Leaf is a run of a document's passages whose vectors are kept together.
type Leaf struct {
	Document int `json:"document,omitempty"` // of those that could be read
	Number   int `json:"number,omitempty"`
}

// Found is what came of a question, or of a part of the texts.
type Found struct {
	call.Answer
	Everything bool `json:"everything,omitempty"` // it takes all texts to answer it
}

// qaPaper is what the activities of a qa task read: its questions, and where its texts are.
type manifest struct {
	Questions    []string    `json:"questions"`
	Mode         task.QAMode `json:"mode"`
	Instructions string      `json:"instructions,omitempty"`
	Language     string      `json:"language,omitempty"`
	Documents    []shelved   `json:"documents"`
	Limit        int         `json:"limit"`  // tokens of a passage
	Model        string      `json:"model"`  // for vectors
	Tenant       string      `json:"tenant"` // whose texts these are
	Exchanges    []exchange  `json:"exchanges,omitempty"`
}

// exchange is a question of an earlier task, and what was answered.
type exchange struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

const (
	leafPassages = 64        // in one call for vectors: tens of thousands of tokens, which all providers take or refuse by name
	mostTokens   = 4_000_000 // of all texts of a task: three million words, an index of some 150 MB
)

// room is how many tokens of text one call of a question holds.
func (a *Activities) room() int {
	return max(a.Documents.ChunkTokens, min(2*a.Documents.ChunkTokens, documents.MaxPartTokens))
}

// OpenLibrary cuts the texts of a task into passages, each text once whoever asks, and plans the work. A task that
// goes on from an earlier one has its texts as they are. Run again it does the same again.
func (a *Activities) OpenLibrary(ctx context.Context, req OpenRequest) (QAPlan, error) {
	heart := call.StartHeartbeat(ctx, "cutting the texts")
	defer heart.Stop()
	var in task.QAInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return QAPlan{}, err
	}
	p := manifest{Limit: min(400, a.room()/4), Model: a.Embedding, Tenant: req.Task.Tenant}
	var err error
	if in.PreviousTaskID != "" {
		p, err = a.recall(ctx, req.Task, in.PreviousTaskID)
	} else {
		p.Documents, err = a.shelve(ctx, heart, req, p.Limit)
	}
	if err != nil {
		return QAPlan{}, call.DocumentError(ctx, err)
	}
	p.Questions, p.Mode, p.Instructions, p.Language = in.Questions, in.Mode, in.Instructions, in.Language
	if err := a.Bucket.PutJSON(ctx, storage.PaperKey(req.Task.ID), p); err != nil {
		return QAPlan{}, err
	}
	plan, err := a.planQA(ctx, p)
	if err == nil {
		plan.Kept, err = a.Results.KeepItems(ctx, req.Task, len(p.Questions))
	}
	return plan, err
}

// recall takes over the texts and the conversation of an earlier task.
func (a *Activities) recall(ctx context.Context, t record.TaskRef, id string) (p manifest, err error) {
	err = a.Bucket.GetJSON(ctx, storage.PaperKey(id), &p)
	if errors.Is(err, storage.ErrNotFound) || err == nil && p.Tenant != t.Tenant {
		return p, task.Errorf(task.Conflict, "the texts of task %s are not there: it ended before they were read, or they were removed; ask with the documents", id)
	}
	if err != nil {
		return p, err
	}
	err = a.Bucket.GetJSON(ctx, storage.ConversationKey(id), &p.Exchanges)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return p, err
}

func (a *Activities) planQA(ctx context.Context, p manifest) (QAPlan, error) {
	plan := QAPlan{
		Questions: len(p.Questions), Mode: p.Mode, Room: a.room(), Queue: a.Call.Router.Targets(p.Model)[0].Queue,
	}
	tokens, passages, part := 0, 0, 0
	for _, d := range p.readable() {
		for _, n := range d.Tokens {
			if part+n > plan.Room && part > 0 {
				plan.Parts, part = append(plan.Parts, passages), 0
			}
			tokens, passages, part = tokens+n, passages+1, part+n
		}
	}
	plan.Parts = append(plan.Parts, passages)
	plan.Whole = len(plan.Parts) == 1
	if tokens > mostTokens {
		return plan, call.Final(task.Errorf(task.DocumentTooLarge, "the documents have about %d tokens of text; at most %d fit into one task: ask about fewer of them", tokens, mostTokens), record.CallState{})
	}
	if plan.Whole || plan.Mode == task.FullText {
		return plan, nil
	}
	missing, err := a.missingLeaves(ctx, p)
	plan.Vectors = calls(p, missing)
	return plan, err
}

// calls puts leaves together that go into one call for vectors.
func calls(p manifest, leaves []Leaf) [][]Leaf {
	var all [][]Leaf
	held := leafPassages
	for _, leaf := range leaves {
		from, to := p.span(leaf)
		if held += to - from; held > leafPassages {
			all, held = append(all, nil), to-from
		}
		all[len(all)-1] = append(all[len(all)-1], leaf)
	}
	return all
}

// paperOf reads a task's paper.
func (a *Activities) readManifest(ctx context.Context, t record.TaskRef) (p manifest, err error) {
	return p, a.Bucket.GetJSON(ctx, storage.PaperKey(t.ID), &p)
}

// query is what passages are looked for with: a question, and what it may go on from.
func (p manifest) query(question int) string {
	if n := len(p.Exchanges); n > 0 {
		return p.Exchanges[n-1].Question + "\n" + p.Questions[question]
	}
	return p.Questions[question]
}

// about names a question in a line of ours.
func (p manifest) about(question int) string {
	return fmt.Sprintf("question %d of %d", question+1, len(p.Questions))
}
