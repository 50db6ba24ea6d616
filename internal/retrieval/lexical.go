package retrieval

import (
	"maps"
	"math"
	"slices"
)

// posting says how often a passage has a term.
type posting struct{ passage, count int32 }

// lexical ranks passages by the terms they share with a question: BM25.
type lexical struct {
	postings map[string][]posting
	lengths  []float64 // of the passages, in terms
	mean     float64   // of the lengths
}

// The usual constants of BM25: how soon more of the same term counts no more, and how much length counts.
const (
	saturation = 1.2
	lengthPull = 0.75
)

func newLexical() *lexical { return &lexical{postings: map[string][]posting{}} }

// add takes in the next passage.
func (l *lexical) add(text string) {
	passage, counts, length := int32(len(l.lengths)), map[string]int32{}, 0
	terms(text, func(term string) {
		counts[term]++
		length++
	})
	for term, count := range counts {
		l.postings[term] = append(l.postings[term], posting{passage, count})
	}
	l.mean = (l.mean*float64(len(l.lengths)) + float64(length)) / float64(len(l.lengths)+1)
	l.lengths = append(l.lengths, float64(length))
}

// scores gives every passage its score for a question; 0 means that they share nothing.
func (l *lexical) scores(question string) []float64 {
	asked := map[string]bool{}
	terms(question, func(term string) { asked[term] = true })
	scores := make([]float64, len(l.lengths))
	for _, term := range slices.Sorted(maps.Keys(asked)) { // in order: a sum of floats must be the same every time
		found := l.postings[term]
		rare := math.Log(1 + (float64(len(l.lengths)-len(found))+0.5)/(float64(len(found))+0.5))
		for _, p := range found {
			often := float64(p.count)
			norm := saturation * (1 - lengthPull + lengthPull*l.lengths[p.passage]/l.mean)
			scores[p.passage] += rare * often * (saturation + 1) / (often + norm)
		}
	}
	return scores
}
