package qa

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"longhaul/activities/call"
	"longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/document"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// shelved is a document of a qa task, and where its text is. The text may be an earlier task's.
type shelved struct {
	Index      int         `json:"index"` // in the input
	Name       string      `json:"name"`
	Error      *task.Error `json:"error,omitempty"` // why it could not be read
	Text       string      `json:"text,omitempty"`  // key of its text
	PageStarts string      `json:"page_starts,omitempty"`
	Hash       string      `json:"hash,omitempty"` // of its text
	Pages      int         `json:"pages,omitempty"`
	Characters int         `json:"characters,omitempty"`
	Tokens     []int       `json:"tokens,omitempty"` // of each passage
}

// readable are the documents that could be read.
func (p manifest) readable() []shelved {
	var found []shelved
	for _, d := range p.Documents {
		if d.Error == nil {
			found = append(found, d)
		}
	}
	return found
}

// span is the passages of a leaf, in its document.
func (p manifest) span(leaf Leaf) (from, to int) {
	from = leaf.Number * leafPassages
	return from, min(from+leafPassages, len(p.readable()[leaf.Document].Tokens))
}

// passagesKey is where the borders of a text's passages are kept.
func passagesKey(tenant, hash string, limit int) string {
	return storage.PassagesKey(tenant, hash, fmt.Sprintf("v%d-%d.json", retrieval.Version, limit))
}

// leafKey is where the vectors of a leaf are kept.
func (p manifest) leafKey(leaf Leaf) string {
	model := sha256.Sum256([]byte(p.Model))
	return storage.PassagesKey(p.Tenant, p.readable()[leaf.Document].Hash,
		fmt.Sprintf("v%d-%d-%s/%05d.vectors", retrieval.Version, p.Limit, hex.EncodeToString(model[:6]), leaf.Number))
}

// shelve cuts the texts of documents into passages. At least one of them must have been read.
func (a *Activities) shelve(ctx context.Context, heart *call.Heartbeat, req OpenRequest, limit int) ([]shelved, error) {
	documents := make([]shelved, len(req.Read))
	var done atomic.Int64
	g, cutting := errgroup.WithContext(ctx)
	g.SetLimit(2) // it is all computing
	for i, read := range req.Read {
		g.Go(func() (err error) {
			documents[i] = shelved{Index: i, Name: read.Label, Error: read.Error}
			if read.Error == nil {
				documents[i], err = a.shelveOne(cutting, req.Task, i, limit)
			}
			heart.Update(func(b *record.Heartbeat) { b.Done, b.Total = int(done.Add(1)), len(documents) })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if (manifest{Documents: documents}).readable() == nil {
		first := *documents[0].Error
		first.Retryable = false // reading it was tried as often as it may be
		return nil, &first
	}
	return documents, nil
}

func (a *Activities) shelveOne(ctx context.Context, t record.TaskRef, index, limit int) (shelved, error) {
	var kept documents.Source
	if err := a.Bucket.GetJSON(ctx, documents.SourceKey(t, index), &kept); err != nil {
		return shelved{}, err
	}
	d := shelved{Index: index, Name: kept.Name, Text: documents.TextKey(t, index), Pages: kept.Pages, Characters: kept.Characters}
	text, err := a.Bucket.Get(ctx, d.Text)
	if err != nil {
		return d, err
	}
	if kept.Pages > 0 {
		d.PageStarts = documents.PagesKey(t, index)
	}
	sum := sha256.Sum256(text)
	d.Hash = hex.EncodeToString(sum[:])
	var passages []document.Chunk
	key := passagesKey(t.Tenant, d.Hash, limit)
	err = a.Bucket.GetJSON(ctx, key, &passages)
	if errors.Is(err, storage.ErrNotFound) {
		passages = retrieval.Cut(string(text), limit)
		err = a.Bucket.PutJSON(ctx, key, passages)
	}
	for _, passage := range passages {
		d.Tokens = append(d.Tokens, passage.Tokens)
	}
	return d, err
}

// missingLeaves are those whose vectors nobody has paid for yet.
func (a *Activities) missingLeaves(ctx context.Context, p manifest) ([]Leaf, error) {
	var leaves []Leaf
	for n, d := range p.readable() {
		for number := range (len(d.Tokens) + leafPassages - 1) / leafPassages {
			leaves = append(leaves, Leaf{n, number})
		}
	}
	there := make([]bool, len(leaves))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(results.Parallel)
	for i, leaf := range leaves {
		g.Go(func() (err error) {
			there[i], err = a.Bucket.Exists(ctx, p.leafKey(leaf))
			return err
		})
	}
	err := g.Wait()
	var missing []Leaf
	for i, leaf := range leaves {
		if !there[i] {
			missing = append(missing, leaf)
		}
	}
	return missing, err
}

// index is a task's texts in memory, ready to be searched: by words, and by vectors too if they are there.
func (a *Activities) index(ctx context.Context, p manifest, vectors bool) (*retrieval.Index, error) {
	names, err := json.Marshal([]any{p.Tenant, p.Limit, p.readable()})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(names)
	key := hex.EncodeToString(sum[:])
	words, err := a.Indexes.Get(key, func() (*retrieval.Index, error) { return a.loadTexts(context.WithoutCancel(ctx), p) })
	if err != nil || !vectors {
		return words, err
	}
	return a.Indexes.Get(key+" "+p.Model, func() (*retrieval.Index, error) {
		found, err := a.loadVectors(context.WithoutCancel(ctx), p)
		if err != nil {
			return nil, err
		}
		return words.With(found), nil
	})
}

func (a *Activities) loadTexts(ctx context.Context, p manifest) (*retrieval.Index, error) {
	documents := p.readable()
	texts := make([]retrieval.Text, len(documents))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i, d := range documents {
		g.Go(func() (err error) {
			texts[i], err = a.loadText(ctx, p, d)
			return err
		})
	}
	err := g.Wait()
	if errors.Is(err, storage.ErrNotFound) {
		return nil, call.Final(task.Errorf(task.Gone, "the text of a document has been removed from the bucket; ask with the documents").Because(err), record.CallState{})
	}
	if err != nil {
		return nil, err
	}
	return retrieval.New(texts), nil
}

func (a *Activities) loadText(ctx context.Context, p manifest, d shelved) (retrieval.Text, error) {
	text := retrieval.Text{Name: d.Name}
	markdown, err := a.Bucket.Get(ctx, d.Text)
	if err != nil {
		return text, err
	}
	text.Markdown = string(markdown)
	if err := a.Bucket.GetJSON(ctx, passagesKey(p.Tenant, d.Hash, p.Limit), &text.Passages); err != nil || d.PageStarts == "" {
		return text, err
	}
	return text, a.Bucket.GetJSON(ctx, d.PageStarts, &text.PageStarts)
}

// loadVectors gives the vectors of all passages in order; nil for those that are not there.
func (a *Activities) loadVectors(ctx context.Context, p manifest) ([][]float32, error) {
	var all [][]float32
	for n, d := range p.readable() {
		for number := range (len(d.Tokens) + leafPassages - 1) / leafPassages {
			leaf := Leaf{n, number}
			from, to := p.span(leaf)
			packed, err := a.Bucket.Get(ctx, p.leafKey(leaf))
			if errors.Is(err, storage.ErrNotFound) {
				all = append(all, make([][]float32, to-from)...)
				continue
			}
			if err != nil {
				return nil, err
			}
			vectors, err := call.UnpackVectors(packed, to-from)
			if err != nil {
				return nil, err
			}
			all = append(all, vectors...)
		}
	}
	return all, nil
}
