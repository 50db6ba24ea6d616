package retrieval

import (
	"cmp"
	"math"
	"slices"
)

// deep is how many of the best of each ranking count; further down there is only noise.
const deep = 100

// best gives the indexes of the highest scores above 0, highest first.
func best(scores []float64) []int {
	var found []int
	for i, score := range scores {
		if score > 0 {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return found[:min(len(found), deep)]
}

// fuse makes one ranking of several by reciprocal rank: what two find good comes before what one finds best.
func fuse(rankings ...[]int) []int {
	// How little the first ranks stand out. It is small: with two rankings of a few hundred passages, one of which may
	// be as good as chance for a question, the best of each must be among the few that are chosen.
	const calm = 4
	sum := map[int]float64{}
	var found []int
	for _, ranking := range rankings {
		for rank, i := range ranking {
			if _, seen := sum[i]; !seen {
				found = append(found, i)
			}
			sum[i] += 1 / float64(calm+rank+1)
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(sum[b], sum[a]), a-b) })
	return found
}

// unit is a vector scaled to length 1, so that a product of two is the cosine between them; nil for one
// that has no direction.
func unit(v []float32) []float32 {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return nil
	}
	scaled := make([]float32, len(v))
	for i, x := range v {
		scaled[i] = float32(float64(x) / math.Sqrt(square))
	}
	return scaled
}

// nearness gives every vector its cosine to another one. Those of another length have none: they are another model's.
func nearness(vectors [][]float32, to []float32) []float64 {
	scores := make([]float64, len(vectors))
	to = unit(to)
	for i, v := range vectors {
		if len(v) != len(to) {
			continue
		}
		var sum float32
		for j, x := range v {
			sum += x * to[j]
		}
		scores[i] = float64(sum)
	}
	return scores
}
