package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/video/videotest"
)

var (
	chaosMinutes = flag.Float64("minutes", 0.2, "duration of the disruptions in TestChaos")
	chaosTasks   = flag.Int("tasks", 16, "number of tasks in TestChaos")
	chaosSeed    = flag.Uint64("seed", 0, "seed of TestChaos, which determines the order and the times of the disruptions; 0 picks a seed")
)

// disruption is a process that was killed, or a service that was made to fail.
type disruption struct {
	what      string // worker, api, temporal, bucket or provider
	at, until time.Time
}

// chaos is a stack on which everything fails at random.
type chaos struct {
	*stack
	seed        uint64
	bucket      *faultyBucket
	videos      *videotest.Provider
	tools       *toolServer
	spare       *process // the second worker
	disruptions []disruption

	providerDown atomic.Bool         // the provider answers 503
	healed       atomic.Bool         // poisoned items succeed
	faulty       map[int]bool        // numbers of the calls that failed on purpose; guarded by the provider's lock
	units        map[string][]string // items of each call by prompt hash; guarded by the provider's lock
}

// Tasks of every kind run while workers, API and Temporal are killed, the bucket fails, and the provider fails in every
// known way. In the end every task has ended, each result exists once, no recorded answer was paid for twice, and all
// views of the tasks agree.
func TestChaos(t *testing.T) {
	c := newChaos(t)
	t.Logf("seed %d: repeat this run with -seed %[1]d", c.seed)
	var tasks []*chaosTask
	all, ctx := errgroup.WithContext(t.Context())
	all.SetLimit(30)
	begun := time.Now()
	length := time.Duration(*chaosMinutes * float64(time.Minute))
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.disruptUntil(begun.Add(length))
	}()
	for i := range *chaosTasks {
		f := &chaosTask{chaos: c, n: i}
		tasks = append(tasks, f)
		all.Go(func() error { return f.run(ctx) })
		time.Sleep(length * 7 / 10 / time.Duration(*chaosTasks))
	}
	<-over
	require.NoError(t, all.Wait())
	c.audit(tasks)
}

func newChaos(t *testing.T) *chaos {
	c := &chaos{seed: *chaosSeed, faulty: map[int]bool{}, units: map[string][]string{}, bucket: newFaultyBucket(t), tools: newToolServer(t)}
	if c.seed == 0 {
		c.seed = rand.Uint64N(1_000_000)
	}
	c.tools.delay = 30 * time.Millisecond
	c.stack, c.videos = newVideoStack(t, localtemporal.Options{}, append(c.bucket.settings(), c.tools.allowPrivate(),
		"LONGHAUL_LLM_IDLE_TIMEOUT=2s", "LONGHAUL_LLM_TIMEOUT=10s", "LONGHAUL_LLM_MAX_ATTEMPTS=10", "LONGHAUL_WORKER_LLM_CONCURRENCY=10",
		"LONGHAUL_LLM_EMBEDDING_MODEL=vectors")...)
	c.provider.Handle(c.answer)
	c.spare = c.start("worker")
	return c
}

// disruptUntil causes disruptions until end, every one to four seconds.
func (c *chaos) disruptUntil(end time.Time) {
	r := rand.New(rand.NewPCG(c.seed, 1))
	deck := []string{"worker", "bucket", "worker", "api", "workers", "temporal", "worker", "bucket", "provider", "worker"}
	for n := 0; time.Now().Before(end) && c.t.Context().Err() == nil; n++ {
		if n%len(deck) == 0 {
			r.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		time.Sleep(time.Duration(1000+r.IntN(3000)) * time.Millisecond)
		c.disrupt(deck[n%len(deck)], time.Duration(r.IntN(3000))*time.Millisecond)
	}
}

// disrupt kills or breaks one part; it is back after the pause.
func (c *chaos) disrupt(what string, pause time.Duration) {
	s := disruption{what: what, at: time.Now()}
	switch what {
	case "worker", "workers":
		s.what = "worker"
		c.worker.kill()
		if what == "workers" {
			c.spare.kill()
			c.spare = c.start("worker")
		}
		s.until = time.Now()
		c.worker, c.spare = c.spare, c.start("worker")
	case "api":
		c.api.kill()
		time.Sleep(pause)
		c.api = c.start("api")
	case "temporal":
		c.freezeAndKillTemporal(pause)
	case "bucket":
		c.bucket.down.Store(true)
		time.Sleep(pause)
		c.bucket.down.Store(false)
	case "provider":
		c.providerDown.Store(true)
		time.Sleep(pause)
		c.providerDown.Store(false)
	}
	if s.until.IsZero() {
		s.until = time.Now()
	}
	c.disruptions = append(c.disruptions, s)
}

// freezeAndKillTemporal stops Temporal for a while with SIGSTOP before it kills it. The server restarts at once.
func (c *chaos) freezeAndKillTemporal(hang time.Duration) {
	text, err := os.ReadFile(filepath.Join(c.dir, "temporal", "LOCK"))
	pid, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || bad != nil {
		return // it is restarting
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	time.Sleep(hang)
	_ = syscall.Kill(pid, syscall.SIGKILL)
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	connection := c.cluster()
	defer connection.Close()
	_ = connection.Wait(ctx) // if it stays down, the tasks fail the test
}

// fault returns the failure of a call, if it has one. The same seed, prompt and attempt give the same failure.
func (c *chaos) fault(call llmtest.Call) (llmtest.Reply, bool) {
	if strings.Contains(call.Prompt, "[poison-") && !c.healed.Load() {
		return unknownModel(), true
	}
	if c.providerDown.Load() {
		return llmtest.Fail(503, `{"error":{"message":"overloaded"}}`), true
	}
	r := rand.New(rand.NewPCG(c.seed, uint64(len(call.Prompt))<<8|uint64(call.Attempt)^hashOf(call.Hash)))
	if call.Attempt > 4 || r.IntN(100) >= 20 {
		return llmtest.Reply{}, false
	}
	half := llmtest.Stream(llmtest.Delta("All was ", ""))
	return []llmtest.Reply{
		llmtest.RateLimit(1), llmtest.RateLimit(0), llmtest.Fail(500, "oops"), llmtest.Fail(502, "<html>bad gateway</html>"), llmtest.Fail(503, ""),
		half.Then(llmtest.Cut), half.Then(llmtest.Reset), half.Then(llmtest.Silence),
	}[r.IntN(8)], true
}

func hashOf(text string) uint64 {
	n, _ := strconv.ParseUint(text, 16, 64)
	return n
}

// answer is the handler of the provider.
func (c *chaos) answer(call llmtest.Call) llmtest.Reply {
	c.units[call.Hash] = unitsOf(call)
	if bad, ok := c.fault(call); ok {
		c.faulty[call.Number] = true
		return bad.After(20 * time.Millisecond)
	}
	return c.goodAnswer(call).After(time.Duration(50+hashOf(call.Hash)%350) * time.Millisecond)
}

func (c *chaos) goodAnswer(call llmtest.Call) llmtest.Reply {
	paid := llmtest.Usage{Input: 10, Output: 2}
	switch {
	case call.Inputs != nil:
		return wordVectors(call.Inputs)
	case len(call.Tools) > 0:
		return agentTurn(call)
	case strings.Contains(call.Prompt, "<text name="):
		n := len(unitsOf(call))
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf(`{"number":%d,"labels":["a"],"confidence":0.9}`, i+1)
		}
		return llmtest.Answer(`{"results":[`+strings.Join(lines, ",")+`]}`, llmtest.Usage{Input: paid.Input * n, Output: paid.Output * n})
	case llmtest.Asked(call.Prompt) != "":
		return llmtest.Cite(call.Prompt, "keeper").Reply()
	default:
		return llmtest.Reply{}
	}
}
