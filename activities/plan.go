package activities

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// PlanRequest asks how to share out the documents of a task.
type PlanRequest struct {
	Task     Task
	InputKey string
}

// Plan is how a batch of documents is worked on. It is small: 5,000 documents are about 30 KB.
type Plan struct {
	Documents int
	Groups    []Group
	Digest    bool
	FanIn     int // how many summaries are combined in one call
}

// Group is a run of documents that one child workflow works on.
type Group struct {
	From    int   // index of its first document
	Weights []int // of each document, in model calls as far as its size tells; 0 of one that is kept of the task that is run again
	URLs    []int // indexes of those that must be fetched first
}

// A group is small enough that its history stays far below the limit of 10,000 events, and large
// enough that its own cost, some 27 ms of the Temporal server, does not matter.
const (
	groupDocuments = 100
	groupWeight    = 400
)

// groupPaper is what the activities of a group read: its documents and how to summarise them.
type groupPaper struct {
	Style     style         `json:"style"`
	From      int           `json:"from"`
	Documents []groupedWork `json:"documents"`
}

// groupedWork is one document of a group. Inline text has been put under Key.
type groupedWork struct {
	Name   string `json:"name,omitempty"` // as the client called it; "" if it did not
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
	FileID string `json:"file_id,omitempty"`
	Key    string `json:"key,omitempty"`

	Password string `json:"password,omitempty"`
}

// style is how summaries are written.
type style struct {
	Instructions string `json:"instructions,omitempty"`
	Language     string `json:"language,omitempty"`
	Words        int    `json:"words"`
}

// PlanSummary shares out the documents of a summary task by size and lays a paper for each group
// into the bucket. Run again it writes the same again.
func (a *Activities) PlanSummary(ctx context.Context, req PlanRequest) (Plan, error) {
	heart := startHeart(ctx, "planning")
	defer heart.Stop()
	var in task.SummaryInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return Plan{}, err
	}
	weights, err := a.lay(ctx, req.Task, in.Documents)
	if err != nil {
		return Plan{}, err
	}
	kept, err := a.keep(ctx, req.Task, len(in.Documents))
	if err != nil {
		return Plan{}, err
	}
	for _, index := range kept {
		weights[index] = 0
	}
	plan := Plan{Documents: len(in.Documents), Groups: share(in.Documents, weights), Digest: in.Digest, FanIn: fanIn(in.Words)}
	how := style{Instructions: in.Instructions, Language: in.Language, Words: in.Words}
	return plan, a.layPapers(ctx, req.Task, plan.Groups, in.Documents, how)
}

// PlanDocuments shares out the documents that a task of any kind reads before its work begins. Run again it
// writes the same again.
func (a *Activities) PlanDocuments(ctx context.Context, req PlanRequest) ([]Group, error) {
	heart := startHeart(ctx, "planning")
	defer heart.Stop()
	var in struct {
		Documents []task.Document `json:"documents"`
	}
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return nil, err
	}
	weights, err := a.lay(ctx, req.Task, in.Documents)
	if err != nil {
		return nil, err
	}
	groups := share(in.Documents, weights)
	return groups, a.layPapers(ctx, req.Task, groups, in.Documents, style{})
}

// lay puts inline texts into the bucket and weighs every document.
func (a *Activities) lay(ctx context.Context, t Task, documents []task.Document) ([]int, error) {
	weights := make([]int, len(documents))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sideBySide)
	for i, d := range documents {
		g.Go(func() (err error) {
			weights[i], err = a.weigh(ctx, t, i, d)
			return err
		})
	}
	return weights, g.Wait()
}

// unknownBytes stands in for the size of a document that has not been fetched.
const unknownBytes = 50_000

func (a *Activities) weigh(ctx context.Context, t Task, index int, d task.Document) (int, error) {
	size := int64(unknownBytes)
	switch {
	case d.Text != "":
		size = int64(len(d.Text))
		key := storage.DocumentKey(t.ID, index, "source")
		if err := a.Bucket.Put(ctx, key, "text/plain; charset=utf-8", []byte(d.Text)); err != nil {
			return 0, err
		}
	case d.FileID != "":
		// A file that was deleted since is that document's error, when it is read.
		if file, err := a.Files.Stat(ctx, t.Tenant, d.FileID); err == nil {
			size = file.Bytes
		}
	}
	// About four bytes of text make a token.
	return 1 + int(min(size/int64(4*a.ChunkTokens), maxParts)), nil
}

// share cuts a batch into groups, in order.
func share(documents []task.Document, weights []int) []Group {
	var groups []Group
	total := groupWeight // so that the first document opens a group
	for i, d := range documents {
		last := len(groups) - 1
		if last < 0 || len(groups[last].Weights) >= groupDocuments || total+weights[i] > groupWeight {
			groups, last, total = append(groups, Group{From: i}), last+1, 0
		}
		total += weights[i]
		groups[last].Weights = append(groups[last].Weights, weights[i])
		if d.URL != "" {
			groups[last].URLs = append(groups[last].URLs, i)
		}
	}
	return groups
}

// fanIn is how many summaries of so many words fit well into one call: about 8,000 tokens, at two
// tokens a word to be safe in any language.
func fanIn(words int) int { return min(max(8000/(2*words), 2), 20) }

func (a *Activities) layPapers(ctx context.Context, t Task, groups []Group, documents []task.Document, how style) error {
	for n, group := range groups {
		paper := groupPaper{Style: how, From: group.From}
		for i := range group.Weights {
			index := group.From + i
			d := documents[index]
			work := groupedWork{Name: d.Name, Label: d.Label(index), URL: d.URL, FileID: d.FileID, Password: d.Password}
			if d.Text != "" {
				work.Key = storage.DocumentKey(t.ID, index, "source")
			}
			paper.Documents = append(paper.Documents, work)
		}
		if err := a.Bucket.PutJSON(ctx, storage.GroupKey(t.ID, n), paper); err != nil {
			return err
		}
	}
	return nil
}

// paper reads a group's paper, and one document's place in it.
func (a *Activities) paper(ctx context.Context, t Task, group, index int) (groupPaper, groupedWork, error) {
	var p groupPaper
	if err := a.Bucket.GetJSON(ctx, storage.GroupKey(t.ID, group), &p); err != nil {
		return p, groupedWork{}, err
	}
	if at := index - p.From; at >= 0 && at < len(p.Documents) {
		return p, p.Documents[at], nil
	}
	return p, groupedWork{}, fmt.Errorf("group %d has no document %d", group, index)
}
