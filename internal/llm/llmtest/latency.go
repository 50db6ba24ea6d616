package llmtest

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// Lognormal gives times whose logarithm is normal, as answer times of models are: half of them below
// the median, and a long tail that grows with sigma (0.5 is usual). The same seed gives the same
// times. It is safe for concurrent use.
func Lognormal(median time.Duration, sigma float64, seed uint64) func() time.Duration {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, seed))
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(float64(median) * math.Exp(sigma*random.NormFloat64()))
	}
}
