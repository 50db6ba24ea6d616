package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// pair is two scripted providers, of which the second stands in for the first.
type pair struct {
	*Caller
	first, second *llmtest.Provider
}

// Prices of a million tokens: a token of the first costs a dollar and its answer two, of the second ten times that.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{first: llmtest.New(t), second: llmtest.New(t)}
	dear := func(times float64) *router.Price {
		return &router.Price{Input: times * 1e6, Cached: times * 1e6, Output: 2 * times * 1e6, Currency: "USD"}
	}
	table, err := router.New("main",
		&router.Provider{Name: "first", Model: wire(t, p.first), Lane: lane.New(lane.Limits{}), Models: []router.Model{{Name: "main", Price: dear(1), Fallbacks: []string{"spare"}}}},
		&router.Provider{Name: "second", Model: wire(t, p.second), Lane: lane.New(lane.Limits{}), Models: []router.Model{{Name: "spare", As: "spare-1", Price: dear(10)}}},
	)
	require.NoError(t, err)
	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	p.Caller = &Caller{Bucket: b, Ledger: storage.NewLedger(b), Router: table, MaxAttempts: 3, Log: slog.New(slog.DiscardHandler)}
	return p
}

func wire(t *testing.T, p *llmtest.Provider) *openai.Client {
	t.Helper()
	client, err := openai.New(openai.Config{Name: "scripted", BaseURL: p.URL(), Key: "k", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return client
}

// ask asks as Temporal does: attempt after attempt, each with the heartbeat of the one before and without
// the waits, until there is an answer or a final failure, or as many as given.
func (p *pair) ask(t *testing.T, req llm.Request, attempts int) (Answer, error) {
	t.Helper()
	return p.run(t, attempts, func(ctx context.Context, heart *Heartbeat) (Answer, error) {
		return p.Caller.Ask(ctx, heart, record.TaskRef{Lineage: "task_a"}, "step", req)
	})
}

func (p *pair) run(t *testing.T, attempts int, do func(context.Context, *Heartbeat) (Answer, error)) (answer Answer, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	var beat record.Heartbeat
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var sent record.Heartbeat
		if details.Get(&sent) == nil {
			beat = sent
		}
	})
	run := func(ctx context.Context) (Answer, error) {
		heart := StartHeartbeat(ctx, "asking")
		defer heart.Stop()
		return do(ctx, heart)
	}
	env.RegisterActivity(run)
	for range attempts {
		env.SetHeartbeatDetails(beat)
		value, failed := env.ExecuteActivity(run)
		if err = failed; err == nil {
			require.NoError(t, value.Get(&answer))
			return answer, nil
		}
		if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.NonRetryable() {
			return answer, err
		}
	}
	return answer, err
}

// alone leaves the first provider without the second.
func (p *pair) alone(t *testing.T) {
	t.Helper()
	first := p.Router.Providers()[0]
	table, err := router.New("main", &router.Provider{Name: "first", Model: first.Model, Lane: first.Lane})
	require.NoError(t, err)
	p.Router = table
}

func question(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: "user", Content: text}}}
}

// An answer is on record, and its activity and all that its heartbeats told was lost: the next attempt tells of the call.
func TestAsk_lostHeartbeats(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.first.On("q", llmtest.Answer("yes", llmtest.Usage{Input: 5, Output: 1}))
	for range 2 {
		answer, err := p.ask(t, question("q"), 1) // each from no heartbeat
		require.NoError(t, err)
		require.Equal(t, 1, answer.Calls)
		require.EqualValues(t, 1, answer.Usage.Requests)
	}
	require.Equal(t, 1, p.first.Counts().Total)
}

// Who answers when the first provider cannot, after how many calls to each, and what it cost.
func TestFallback(t *testing.T) {
	t.Parallel()
	good := llmtest.Answer("yes", llmtest.Usage{Input: 5, Output: 1})
	broken := llmtest.Fail(http.StatusInternalServerError, `{"error":{"message":"oops"}}`)
	tests := map[string]struct {
		replies       []llmtest.Reply // of the first
		first, second int             // calls
		code          task.Code       // of the failure, if there is no answer
		cost          float64
	}{
		"it answers":         {[]llmtest.Reply{good}, 1, 0, "", 7},
		"a passing fault":    {[]llmtest.Reply{broken, good}, 2, 0, "", 7},
		"a lasting fault":    {[]llmtest.Reply{broken}, 3, 1, "", 70},
		"down":               {[]llmtest.Reply{llmtest.Fail(http.StatusBadGateway, "")}, 1, 1, "", 70},
		"out of quota":       {[]llmtest.Reply{quota()}, 1, 1, "", 70},
		"key refused":        {[]llmtest.Reply{llmtest.Fail(http.StatusUnauthorized, `{"error":{"message":"no"}}`)}, 1, 1, "", 70},
		"no such model":      {[]llmtest.Reply{llmtest.Fail(http.StatusNotFound, `{"error":{"message":"no such model","code":"model_not_found"}}`)}, 1, 1, "", 70},
		"cut, and cut again": {[]llmtest.Reply{cut(8)}, 2, 1, "", 2*(5+2*8) + 70},
		"cut, and longer refused": {
			[]llmtest.Reply{cut(8), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"This model's maximum context length is 4096 tokens"}}`)}, 2, 1, "", 5 + 2*8 + 70,
		},
		"content refused": {
			[]llmtest.Reply{llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`)}, 1, 0, task.ContentFiltered, 0,
		},
		"too long": {
			[]llmtest.Reply{llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"context_length_exceeded"}}`)}, 1, 0, task.ContextExceeded, 0,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.first.On("q", test.replies...)
			p.second.On("q", good)
			answer, err := p.ask(t, question("q"), 10)
			require.Len(t, p.first.Calls(), test.first)
			require.Len(t, p.second.Calls(), test.second)
			if test.code != "" {
				var failed *temporal.ApplicationError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, string(test.code), failed.Type())
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.first+test.second, answer.Calls)
			require.Equal(t, &task.Cost{Amount: test.cost, Currency: "USD"}, answer.Usage.Cost)
			require.EqualValues(t, 1, answer.Usage.Requests)
			if test.second > 0 {
				require.Equal(t, "spare-1", p.second.Calls()[0].Model)
				require.Equal(t, "second/spare-1", answer.By)
			}

			// The ledger knows the answer by the model that was asked for.
			again, err := p.ask(t, question("q"), 1)
			require.NoError(t, err)
			require.Equal(t, answer.Key, again.Key)
			require.Len(t, p.first.Calls(), test.first)
			require.Len(t, p.second.Calls(), test.second)
		})
	}
}

func quota() llmtest.Reply {
	return llmtest.Fail(http.StatusTooManyRequests, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`)
}

// cut is an answer of five tokens in that came to its limit after so many.
func cut(output int) llmtest.Reply {
	return llmtest.Stream(llmtest.Delta("half an", ""), llmtest.Delta("", "length"), llmtest.UsageEvent(llmtest.Usage{Input: 5, Output: output}), "[DONE]")
}

// Once one call has found a provider down or out of quota, others do not have to find out themselves.
func TestFallback_othersPassItBy(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]llmtest.Reply{"down": llmtest.Fail(http.StatusServiceUnavailable, ""), "out of quota": quota()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.first.On("q", reply)
			for _, text := range []string{"q one", "q two", "q three"} {
				_, err := p.ask(t, question(text), 10)
				require.NoError(t, err)
			}
			require.Len(t, p.first.Calls(), 1)
			require.Len(t, p.second.Calls(), 3)
		})
	}
}

// A rate limit is waited for: nobody stands in, and a later attempt asks the same provider.
func TestFallback_rateLimitsAreWaitedFor(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.first.On("q", llmtest.RateLimit(90))
	_, err := p.ask(t, question("q"), 3)
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, string(task.RateLimited), failed.Type())
	require.False(t, failed.NonRetryable())
	require.Len(t, p.first.Calls(), 1, "the lane is closed for the second attempt")
	require.Empty(t, p.second.Calls())
}

// Where nobody is left to stand in, an outage is waited for.
func TestFallback_allDown(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, provider := range []*llmtest.Provider{p.first, p.second} {
		provider.On("q", llmtest.Fail(http.StatusServiceUnavailable, ""))
	}
	_, err := p.ask(t, question("q"), 6)
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.False(t, failed.NonRetryable())
	require.Len(t, p.first.Calls(), 1)
	require.Len(t, p.second.Calls(), 5)
}

// What becomes of an answer with a flaw: it is mended once.
func TestFlaws(t *testing.T) {
	t.Parallel()
	form := &llm.Schema{Name: "n", JSON: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}
	usage := llmtest.Usage{Input: 10, Output: 2}
	words, fits := llmtest.Answer("It is one.", usage), llmtest.Answer(`{"n":1}`, usage)
	tests := map[string]struct {
		schema  *llm.Schema
		replies []llmtest.Reply
		calls   int
		code    task.Code
		wasted  int64
		second  func(t *testing.T, body string) // what the second call must be like
	}{
		"a schema is broken once": {form, []llmtest.Reply{words, fits}, 2, "", 12, func(t *testing.T, body string) {
			require.Contains(t, body, "It is one.")
			require.Contains(t, body, "That cannot be used")
		}},
		"a schema is broken twice":   {form, []llmtest.Reply{words}, 2, task.BadResponse, 24, nil},
		"a fault beside the mending": {form, []llmtest.Reply{words, llmtest.Fail(http.StatusInternalServerError, ""), fits}, 3, "", 12, nil},
		"cut once": {nil, []llmtest.Reply{cut(5000), fits}, 2, "", 5005, func(t *testing.T, body string) {
			require.Contains(t, body, `"max_tokens":10000`)
		}},
		"cut short": {nil, []llmtest.Reply{cut(50), fits}, 2, "", 55, func(t *testing.T, body string) {
			require.Contains(t, body, `"max_tokens":8192`)
		}},
		"cut twice": {nil, []llmtest.Reply{cut(50)}, 2, task.AnswerIncomplete, 110, nil},
		"longer is not to be had": {
			nil, []llmtest.Reply{cut(50), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"max_tokens is too large"}}`)}, 2, task.AnswerIncomplete, 55, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			var bodies []string
			p.first.Handle(func(c llmtest.Call) llmtest.Reply {
				bodies = append(bodies, string(c.Body))
				return test.replies[min(len(bodies), len(test.replies))-1]
			})
			p.alone(t)
			req := question("q")
			req.Schema = test.schema
			answer, err := p.ask(t, req, 10)
			require.Len(t, bodies, test.calls)
			used := answer.Usage
			if test.code == "" {
				require.NoError(t, err)
				require.Equal(t, test.calls, answer.Calls)
			} else {
				var failed *temporal.ApplicationError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, string(test.code), failed.Type())
				var told task.Error
				var spent record.Spent
				require.NoError(t, failed.Details(&told, &spent))
				require.Equal(t, test.calls, told.Attempts)
				require.NotEmpty(t, told.Provider.Name, "who gave it")
				used = spent.Usage
			}
			require.Equal(t, test.wasted, used.WastedTokens)
			require.Zero(t, used.UnmeteredCalls)
			if test.second != nil {
				test.second(t, bodies[1])
			}
		})
	}
}

// A call that broke in the middle used something that nobody told; one that was refused used nothing.
func TestUnmetered(t *testing.T) {
	t.Parallel()
	good := llmtest.Answer("yes", llmtest.Usage{Input: 5, Output: 1})
	for name, test := range map[string]struct {
		replies []llmtest.Reply
		want    int64
	}{
		"a cut stream":            {[]llmtest.Reply{llmtest.Stream(llmtest.Delta("a", "")).Then(llmtest.Cut), good}, 1},
		"a status":                {[]llmtest.Reply{llmtest.Fail(http.StatusInternalServerError, ""), good}, 0},
		"no usage with an answer": {[]llmtest.Reply{llmtest.Stream(llmtest.Delta("a", ""), llmtest.Delta("", "stop"), "[DONE]")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.first.On("q", test.replies...)
			answer, err := p.ask(t, question("q"), 5)
			require.NoError(t, err)
			require.Equal(t, test.want, answer.Usage.UnmeteredCalls)
		})
	}
}

// A request that the wire refuses itself was no call.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	req := question("q")
	req.Schema = &llm.Schema{JSON: json.RawMessage(`{"type":"no such type"}`)}
	_, err := p.ask(t, req, 3)
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	var told task.Error
	require.NoError(t, failed.Details(&told))
	require.Zero(t, told.Attempts)
	require.Empty(t, p.first.Calls())
}

// Vectors are paid once: an attempt goes on where the one before broke off, and parts that are too large are halved.
func TestEmbed(t *testing.T) {
	t.Parallel()
	texts := make([]string, 10)
	for i := range texts {
		texts[i] = fmt.Sprintf("text %d", i)
	}
	p := newPair(t)
	broken := false
	p.first.Handle(func(c llmtest.Call) llmtest.Reply {
		switch {
		case len(c.Inputs) > 4:
			return llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"batch size is invalid, it should not be larger than 4"}}`)
		case c.Inputs[0] == "text 4" && !broken:
			broken = true
			return llmtest.Fail(http.StatusInternalServerError, "")
		}
		return llmtest.Reply{}
	})
	var vectors [][]float32
	answer, err := p.run(t, 5, func(ctx context.Context, heart *Heartbeat) (answer Answer, err error) {
		vectors, answer, err = p.Embed(ctx, heart, record.TaskRef{Lineage: "task_a"}, "embed", llm.EmbedRequest{Model: "main", Texts: texts})
		return answer, err
	})
	require.NoError(t, err)
	require.Len(t, vectors, 10)
	for i, v := range vectors {
		require.Equal(t, llmtest.Vector(texts[i], len(v)), v)
	}
	calls := p.first.Calls()
	require.Equal(t, len(calls), answer.Calls)
	answered := 0
	for _, c := range calls {
		if c.Status == http.StatusOK {
			answered++
		}
	}
	require.EqualValues(t, answered, answer.Usage.Requests)
	require.Zero(t, answer.Usage.UnmeteredCalls)

	before := len(calls)
	_, err = p.run(t, 1, func(ctx context.Context, heart *Heartbeat) (answer Answer, err error) {
		_, answer, err = p.Embed(ctx, heart, record.TaskRef{Lineage: "task_a"}, "embed", llm.EmbedRequest{Model: "main", Texts: texts})
		return answer, err
	})
	require.NoError(t, err)
	require.Len(t, p.first.Calls(), before, "every part is in the ledger")
}

// A stand-in is shown its own broken answer, not that of the one before it, and each call has a key of its own.
func TestFlaws_ofTheStandIn(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	usage := llmtest.Usage{Input: 10, Output: 2}
	p.first.On("q", llmtest.Answer("first words", usage))
	p.second.On("q", llmtest.Answer("second words", usage), llmtest.Answer(`{"n":1}`, usage))
	req := question("q")
	req.Schema = &llm.Schema{Name: "n", JSON: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
	answer, err := p.ask(t, req, 10)
	require.NoError(t, err)
	require.Equal(t, 4, answer.Calls)
	first, second := p.first.Calls(), p.second.Calls()
	require.Len(t, first, 2)
	require.Len(t, second, 2)
	require.Contains(t, second[1].Prompt, "second words")
	require.NotContains(t, second[1].Prompt, "first words")
	keys := map[string]bool{}
	for _, c := range append(first, second...) {
		keys[c.IdempotencyKey] = true
	}
	require.Len(t, keys, 4)
	require.InDelta(t, 2*14+2*140, answer.Usage.Cost.Amount, 1e-9)
}

// When a call is broken off, the others of its task, which have not heard yet, begin none in its place; those of other tasks do.
func TestEnter_endOfATask(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.first.On("long", llmtest.Reply{Delay: time.Minute})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	run := func(ctx context.Context, id, text string, cut time.Duration) error {
		ctx, end := context.WithTimeout(ctx, cut)
		defer end()
		heart := StartHeartbeat(ctx, "asking")
		defer heart.Stop()
		_, err := p.Caller.Ask(ctx, heart, record.TaskRef{ID: id, Lineage: id}, "step", question(text))
		return err
	}
	env.RegisterActivity(run)
	_, err := env.ExecuteActivity(run, "task_a", "long", 100*time.Millisecond)
	require.Error(t, err)
	_, err = env.ExecuteActivity(run, "task_a", "another", time.Second)
	require.Error(t, err)
	require.Empty(t, p.first.CallsWith("another"))
	_, err = env.ExecuteActivity(run, "task_b", "one more", time.Minute)
	require.NoError(t, err)
}
