package documents

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Group is a run of documents that one child workflow works on.
type Group struct {
	From    int   `json:"from,omitempty"`    // index of its first document
	Weights []int `json:"weights,omitempty"` // of each document, in model calls as far as its size tells; 0 of a document that is taken over from the replayed task
	URLs    []int `json:"urls,omitempty"`    // indexes of those that must be fetched first
}

// A group is small enough that its history stays far below the limit of 10,000 events, and large
// enough that its own cost, some 27 ms of the Temporal server, does not matter.
const (
	groupDocuments = 100
	groupWeight    = 400
)

// Manifest is what the activities of a group read: its documents and how to write about them.
type Manifest struct {
	Style     Style   `json:"style"`
	From      int     `json:"from"`
	Documents []Entry `json:"documents"`
}

// Entry is one document of a group. Inline text is stored under Key.
type Entry struct {
	Name   string `json:"name,omitempty"` // as the client called it; "" if it did not
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
	FileID string `json:"file_id,omitempty"`
	Key    string `json:"key,omitempty"`

	Password string `json:"password,omitempty"`
}

// Style is how texts about the documents are written.
type Style struct {
	Instructions string `json:"instructions,omitempty"`
	Language     string `json:"language,omitempty"`
	Words        int    `json:"words"`
}

// PlanDocuments plans the documents that a task reads before its work begins. A retry writes the same again.
func (a *Library) PlanDocuments(ctx context.Context, req record.PlanRequest) ([]Group, error) {
	heart := call.StartHeartbeat(ctx, "planning")
	defer heart.Stop()
	var in struct {
		Documents []task.Document `json:"documents"`
	}
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return nil, err
	}
	return a.Plan(ctx, req.Task, in.Documents, Style{}, nil)
}

// Plan stores inline texts, shares the documents out to groups, and stores a manifest for each group. Documents whose
// indexes are in kept are taken over from the replayed task: they weigh nothing. A retry writes the same again.
func (a *Library) Plan(ctx context.Context, t record.TaskRef, documents []task.Document, style Style, kept []int) ([]Group, error) {
	weights, err := a.writeTexts(ctx, t, documents)
	if err != nil {
		return nil, err
	}
	for _, index := range kept {
		weights[index] = 0
	}
	groups := share(documents, weights)
	return groups, a.writeManifests(ctx, t, groups, documents, style)
}

// writeTexts stores inline texts and weighs every document, in model calls.
func (a *Library) writeTexts(ctx context.Context, t record.TaskRef, documents []task.Document) ([]int, error) {
	weights := make([]int, len(documents))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(results.Parallel)
	for i, d := range documents {
		g.Go(func() (err error) {
			weights[i], err = a.weigh(ctx, t, i, d)
			return err
		})
	}
	return weights, g.Wait()
}

// unknownBytes is the assumed size of a document that has not been fetched.
const unknownBytes = 50_000

func (a *Library) weigh(ctx context.Context, t record.TaskRef, index int, d task.Document) (int, error) {
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

// share cuts documents into groups, in order.
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

// writeManifests stores a manifest for each group.
func (a *Library) writeManifests(ctx context.Context, t record.TaskRef, groups []Group, documents []task.Document, style Style) error {
	for n, group := range groups {
		manifest := Manifest{Style: style, From: group.From}
		for i := range group.Weights {
			index := group.From + i
			d := documents[index]
			entry := Entry{Name: d.Name, Label: d.Label(index), URL: d.URL, FileID: d.FileID, Password: d.Password}
			if d.Text != "" {
				entry.Key = storage.DocumentKey(t.ID, index, "source")
			}
			manifest.Documents = append(manifest.Documents, entry)
		}
		if err := a.Bucket.PutJSON(ctx, storage.GroupKey(t.ID, n), manifest); err != nil {
			return err
		}
	}
	return nil
}

// ManifestEntry reads the manifest of a group and returns it with the entry of one of its documents.
func (a *Library) ManifestEntry(ctx context.Context, t record.TaskRef, group, index int) (Manifest, Entry, error) {
	var manifest Manifest
	if err := a.Bucket.GetJSON(ctx, storage.GroupKey(t.ID, group), &manifest); err != nil {
		return manifest, Entry{}, err
	}
	if at := index - manifest.From; at >= 0 && at < len(manifest.Documents) {
		return manifest, manifest.Documents[at], nil
	}
	return manifest, Entry{}, fmt.Errorf("group %d has no document %d", group, index)
}
