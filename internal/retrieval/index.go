package retrieval

import (
	"fmt"
	"slices"
	"sort"

	"longhaul/internal/document"
)

// Version is the version of Cut's algorithm. Stored results of Cut are valid only for the same version.
const Version = 1

// Cut splits a text into passages of at most limit tokens.
func Cut(text string, limit int) []document.Chunk { return document.Split(text, limit) }

// Text is a document to search.
type Text struct {
	Name       string
	Markdown   string
	PageStarts []int            // byte offset of each page; nil without pages
	Passages   []document.Chunk // from Cut
}

// passage is a passage of an index.
type passage struct {
	document   int // index of the text
	start, end int // byte range in the text
	tokens     int
}

// Index ranks the passages of texts. It is immutable and safe for concurrent use.
type Index struct {
	texts    []Text
	headings [][]heading // by text
	passages []passage
	words    *lexical
	vectors  [][]float32 // by passage; nil for a passage without a vector
}

// New indexes texts, without vectors.
func New(texts []Text) *Index {
	x := &Index{texts: texts, words: newLexical()}
	for n, text := range texts {
		x.headings = append(x.headings, outline(text.Markdown))
		for _, c := range text.Passages {
			x.passages = append(x.passages, passage{n, c.Start, c.End, c.Tokens})
			x.words.add(text.Markdown[c.Start:c.End])
		}
	}
	return x
}

// With returns the index with vectors for its passages, in their order; nil for a passage without a vector.
func (x *Index) With(vectors [][]float32) *Index {
	with := *x
	with.vectors = make([][]float32, len(vectors))
	for i, v := range vectors {
		with.vectors[i] = unit(v)
	}
	return &with
}

// Len returns the number of passages.
func (x *Index) Len() int { return len(x.passages) }

// Words returns the text of the nth passage, counted from 0.
func (x *Index) Words(n int) string {
	p := x.passages[n]
	return x.texts[p.document].Markdown[p.start:p.end]
}

// Place is a location in a document.
type Place struct {
	Name    string // document name
	Section string // enclosing headings, outermost first; "" without headings
	Page    int    // page number from 1; 0 without pages
}

// Place returns the start of a passage.
func (x *Index) Place(n int) Place {
	p := x.passages[n]
	text := x.texts[p.document]
	return x.place(p.document, body(text.Markdown, p.start, p.end))
}

func (x *Index) place(document, at int) Place {
	text := x.texts[document]
	return Place{text.Name, section(x.headings[document], at), sort.SearchInts(text.PageStarts, at+1)}
}

// String formats a place: "report.pdf, page 12, Tides".
func (p Place) String() string {
	line := p.Name
	if p.Page > 0 {
		line += fmt.Sprintf(", page %d", p.Page)
	}
	if p.Section != "" {
		line += ", " + p.Section
	}
	return line
}

// Best returns the passages that are most relevant to a question, in the order of the texts. Their total is at most
// tokens, except that the best passage is always included. A nil vector ranks by words alone; the result is nil if no
// passage is relevant.
func (x *Index) Best(question string, vector []float32, tokens int) []int {
	ranking := best(x.words.scores(question))
	if vector != nil && x.vectors != nil {
		ranking = fuse(ranking, best(nearness(x.vectors, vector)))
	}
	var chosen []int
	for _, n := range ranking {
		if left := tokens - x.passages[n].tokens; left >= 0 || len(chosen) == 0 {
			chosen, tokens = append(chosen, n), left
		}
	}
	slices.Sort(chosen)
	return chosen
}

// Citation is a verified quote.
type Citation struct {
	Place
	Document   int
	Quote      string // as written in the text
	Start, End int    // byte range in the document's text
}

// Cite finds a quote in a passage. An unknown passage or quote returns false.
func (x *Index) Cite(n int, quote string) (Citation, bool) {
	if n < 0 || n >= len(x.passages) {
		return Citation{}, false
	}
	start, end, ok := Quoted(x.Words(n), quote)
	if !ok {
		return Citation{}, false
	}
	p := x.passages[n]
	c := Citation{Document: p.document, Start: p.start + start, End: p.start + end}
	c.Place, c.Quote = x.place(p.document, c.Start), x.texts[p.document].Markdown[c.Start:c.End]
	return c, true
}

// Bytes estimates the memory of the index.
func (x *Index) Bytes() int64 {
	const perTerm, perPosting = 64, 8
	total := 0
	for _, text := range x.texts {
		total += len(text.Markdown)
	}
	for term, list := range x.words.postings {
		total += perTerm + len(term) + perPosting*cap(list)
	}
	for _, v := range x.vectors {
		total += 4 * len(v)
	}
	return int64(total)
}
