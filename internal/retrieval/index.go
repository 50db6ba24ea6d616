package retrieval

import (
	"fmt"
	"slices"
	"sort"

	"longhaul/internal/document"
)

// Version says how texts are cut. Whoever keeps what Cut gave asks for it by this number.
const Version = 1

// Cut cuts a text into passages of at most limit tokens.
func Cut(text string, limit int) []document.Chunk { return document.Split(text, limit) }

// Text is a document to find passages in.
type Text struct {
	Name       string
	Markdown   string
	PageStarts []int            // bytes at which its pages begin; nil where there are none
	Passages   []document.Chunk // from Cut
}

// passage is one of an index.
type passage struct {
	document   int // index of its text
	start, end int // bytes of that text
	tokens     int
}

// Index ranks the passages of texts. It never changes, so it is safe for concurrent use.
type Index struct {
	texts    []Text
	headings [][]heading // by text
	passages []passage
	words    *lexical
	vectors  [][]float32 // by passage; nil where there is none
}

// New makes the index of texts, by words alone.
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

// With is the index with vectors for its passages, in their order; nil for a passage without one.
func (x *Index) With(vectors [][]float32) *Index {
	with := *x
	with.vectors = make([][]float32, len(vectors))
	for i, v := range vectors {
		with.vectors[i] = unit(v)
	}
	return &with
}

// Len is how many passages there are.
func (x *Index) Len() int { return len(x.passages) }

// Words is the text of the nth passage, from 0.
func (x *Index) Words(n int) string {
	p := x.passages[n]
	return x.texts[p.document].Markdown[p.start:p.end]
}

// Place says where something stands.
type Place struct {
	Name    string // of the document
	Section string // the headings above, outermost first; "" if there are none
	Page    int    // 0 if there are none
}

// Place says where a passage begins.
func (x *Index) Place(n int) Place {
	p := x.passages[n]
	text := x.texts[p.document]
	return x.place(p.document, body(text.Markdown, p.start, p.end))
}

func (x *Index) place(document, at int) Place {
	text := x.texts[document]
	return Place{text.Name, section(x.headings[document], at), sort.SearchInts(text.PageStarts, at+1)}
}

// String is a place in a line: "report.pdf, page 12, Tides".
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

// Best are the passages that fit a question best, as many as fit into so many tokens, in the order of the texts. A nil
// vector ranks by words alone. None is no passage that fits at all.
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

// Citation is a quote that was found.
type Citation struct {
	Place
	Document   int
	Quote      string // as it stands in the text
	Start, End int    // bytes of the document's text
}

// Cite finds a quote in a passage.
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

// Bytes is about how much memory the index takes.
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
