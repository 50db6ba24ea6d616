package translate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Plan says which documents are worked on, in groups. It is small: 5,000 documents are about 30 KB.
type Plan struct {
	Documents int               `json:"documents,omitempty"`
	Groups    []documents.Group `json:"groups,omitempty"`
	Kept      int               `json:"kept,omitempty"` // documents taken over from the replayed task
}

// PlanTranslation plans the documents of a task and takes over what a replay keeps. A retry writes the same again.
func (a *Activities) PlanTranslation(ctx context.Context, req record.PlanRequest) (Plan, error) {
	heart := call.StartHeartbeat(ctx, "planning")
	defer heart.Stop()
	var in task.TranslateInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return Plan{}, err
	}
	kept, err := a.Results.KeepItems(ctx, req.Task, len(in.Documents))
	if err != nil {
		return Plan{}, err
	}
	if err := a.Results.KeepArtifacts(ctx, req.Task, kept); err != nil {
		return Plan{}, err
	}
	style := documents.Style{Language: in.Language, Instructions: in.Instructions}
	groups, err := a.Documents.Plan(ctx, req.Task, in.Documents, style, kept)
	return Plan{Documents: len(in.Documents), Groups: groups, Kept: len(kept)}, err
}

// StoreRequest asks to store the translation of a document. Answers are ledger keys, one for each part.
type StoreRequest struct {
	Task    record.TaskRef    `json:"task,omitzero"`
	Group   int               `json:"group,omitempty"`
	Index   int               `json:"index,omitempty"`
	Parts   []documents.Part  `json:"parts,omitempty"`
	Answers []string          `json:"answers,omitempty"`
	Item    results.ItemSoFar `json:"item,omitzero"`
	Model   string            `json:"model,omitempty"` // that answered
	Fake    bool              `json:"fake,omitempty"`  // the simulated model answered
}

// Translation is the result of one document.
type Translation struct {
	Language string           `json:"language"`
	Artifact string           `json:"artifact"` // Markdown
	Href     string           `json:"href"`
	Text     string           `json:"text,omitempty"` // the translation itself, if it is short
	Parts    int              `json:"parts"`          // how many model calls its text took
	Source   documents.Source `json:"source"`
}

// maxInlineText is the longest translation, in bytes, that an item holds beside its artifact.
const maxInlineText = 16 << 10

// StoreTranslation joins the parts of a document, with the white space between them as in the source, and records the
// item. It is paid for, so a cancel does not stop it. A retry writes the same again.
func (a *Activities) StoreTranslation(ctx context.Context, req StoreRequest) error {
	heart := call.StartHeartbeat(ctx, "storing")
	defer heart.Stop()
	ctx = context.WithoutCancel(ctx)
	manifest, _, err := a.Documents.ManifestEntry(ctx, req.Task, req.Group, req.Index)
	if err != nil {
		return err
	}
	source, err := a.Bucket.Get(ctx, documents.TextKey(req.Task, req.Index))
	if err != nil {
		return err
	}
	var text strings.Builder
	for i, key := range req.Answers {
		answer, err := a.Call.Text(ctx, key)
		if err != nil {
			return err
		}
		part := string(source[req.Parts[i].Start:req.Parts[i].End])
		text.WriteString(strings.TrimSpace(answer) + part[len(strings.TrimRightFunc(part, unicode.IsSpace)):])
	}
	name := fmt.Sprintf("translation-%d.md", req.Index+1)
	if err := a.Results.WriteReport(ctx, req.Task, name, text.String()); err != nil {
		return err
	}
	result := Translation{Language: manifest.Style.Language, Artifact: name, Href: results.ArtifactHref(req.Task, name), Parts: len(req.Parts)}
	if text.Len() <= maxInlineText {
		result.Text = text.String()
	}
	if err := a.Bucket.GetJSON(ctx, documents.SourceKey(req.Task, req.Index), &result.Source); err != nil {
		return err
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return a.Results.WriteItem(ctx, req.Task, task.Item{
		Index: req.Index, Status: task.ItemSucceeded, Name: result.Source.Name, Result: encoded, Usage: req.Item.Usage,
		Attempts: req.Item.Calls, Cached: req.Item.Calls == 0, Model: req.Model, Simulated: req.Fake,
	})
}

// FinishRequest asks to store the results of a task, however it ended.
type FinishRequest struct {
	Task     record.TaskRef `json:"task,omitzero"`
	InputKey string         `json:"input_key,omitempty"`
	Reason   *task.Error    `json:"reason,omitempty"` // why documents without an outcome have none
	Cut      []results.Cut  `json:"cut,omitempty"`    // what such documents used
}

// Output is the result of a task.
type Output struct {
	Language  string     `json:"language"`
	Documents []Document `json:"documents"`
}

// Document is one document of the result.
type Document struct {
	Index  int             `json:"index"`
	Name   string          `json:"name"`
	Status task.ItemStatus `json:"status"`
	*Translation
	Error *task.Error `json:"error,omitempty"`
}

// FinishTranslation writes the list of items and the result. A retry writes the same again.
func (a *Activities) FinishTranslation(ctx context.Context, req FinishRequest) (results.Finished, error) {
	heart := call.StartHeartbeat(ctx, "storing")
	defer heart.Stop()
	var in task.TranslateInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return results.Finished{}, err
	}
	items := make([]task.Item, len(in.Documents))
	for i, d := range in.Documents {
		items[i] = results.Unfinished(i, d.Label(i), req.Reason)
	}
	for _, cut := range req.Cut {
		items[cut.Index].Usage, items[cut.Index].Attempts = cut.Usage, cut.Calls
	}
	finished, err := a.Results.Finalize(ctx, heart, req.Task, items)
	if err != nil || finished.Outcome == task.None {
		return finished, err
	}
	output := Output{Language: in.Language, Documents: make([]Document, len(items))}
	for i, item := range items {
		translation, err := results.ResultOf[Translation](item)
		if err != nil {
			return results.Finished{}, err
		}
		output.Documents[i] = Document{Index: i, Name: item.Name, Status: item.Status, Translation: translation, Error: item.Error}
	}
	finished.Result, err = a.Results.WriteResult(ctx, req.Task, output)
	return finished, err
}
