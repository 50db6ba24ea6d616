package retrieval

import (
	"maps"
	"math"
	"slices"
)

// posting is the number of occurrences of a term in a passage.
type posting struct{ passage, count int32 }

// lexical ranks passages by BM25.
type lexical struct {
	postings map[string][]posting
	lengths  []float64 // passage lengths in terms
	mean     float64   // mean of lengths
}

// The usual constants of BM25: saturation of repeated terms, and weight of the passage length.
const (
	saturation = 1.2
	lengthPull = 0.75
)

func newLexical() *lexical { return &lexical{postings: map[string][]posting{}} }

// add indexes the next passage.
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

// scores returns the score of every passage for a question; 0 means no common term.
func (l *lexical) scores(question string) []float64 {
	asked := map[string]bool{}
	terms(question, func(term string) { asked[term] = true })
	scores := make([]float64, len(l.lengths))
	for _, term := range slices.Sorted(maps.Keys(asked)) { // sorted, because the sum of floats depends on the order
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
