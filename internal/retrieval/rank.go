package retrieval

import (
	"cmp"
	"math"
	"slices"
)

// deep is the maximum length of a ranking; lower ranks are noise.
const deep = 100

// best returns the indexes of the highest positive scores, highest first.
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

// fuse merges rankings by reciprocal rank fusion: passages in both rankings outrank passages in one.
func fuse(rankings ...[]int) []int {
	// calm is the constant of reciprocal rank fusion, usually 60. It is small here so that the top of each ranking is
	// among the few chosen passages, even when the other ranking is noise.
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

// unit scales a vector to length 1, so that a dot product is the cosine; nil for a zero vector.
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

// nearness returns the cosine of every vector to another vector. A vector of another length is from another model and
// scores 0.
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
