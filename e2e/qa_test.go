package e2e

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	qaacts "longhaul/activities/qa"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// submitQA starts a QA task and returns its id.
func (s *stack) submitQA(in task.QAInput) string { return s.begin("qa", in, nil) }

func (s *stack) qaAnswers(id string) (out qaacts.QAOutput) {
	status, body := s.get("/v1/tasks/" + id + "/result")
	require.Equal(s.t, http.StatusOK, status, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), &out))
	return out
}

// answering answers a question about a day with the sentence of the sources that mentions it. For a question about all
// days it asks for the whole text.
func answering(after func(llmtest.Call) time.Duration) func(llmtest.Call) llmtest.Reply {
	return func(call llmtest.Call) llmtest.Reply {
		if call.Inputs != nil {
			return wordVectors(call.Inputs).After(after(call))
		}
		_, day, _ := strings.Cut(llmtest.Asked(call.Prompt), "day ")
		answer := llmtest.Cite(call.Prompt, "day "+strings.TrimSuffix(day, "?"))
		if answer.NeedsEverything = strings.Contains(call.Prompt, "needs_everything: the sources") && day == ""; answer.NeedsEverything {
			answer.Citations = nil
		}
		answer.Citations = answer.Citations[:min(len(answer.Citations), 3)]
		return answer.Reply().After(after(call))
	}
}

// wordVectors embeds texts by their words.
func wordVectors(texts []string) llmtest.Reply {
	items := make([]string, len(texts))
	for i, text := range texts {
		v := make([]float32, 1536)
		for word := range strings.FieldsSeq(text) {
			v[crc32.ChecksumIEEE([]byte(word))%1536]++
		}
		items[i] = llmtest.Item(i, llmtest.Base64(v))
	}
	return llmtest.Embeddings(100*len(texts), items...)
}

// A worker that is killed in each step of a task costs its calls in flight and nothing else.
func TestQA_killedInEveryStep(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=4", "LONGHAUL_API_MAX_BODY=16MiB", "LONGHAUL_LLM_CHUNK_TOKENS=1000")
	s.provider.Handle(answering(func(llmtest.Call) time.Duration { return 300 * time.Millisecond }))
	in := task.QAInput{Documents: []task.Document{{Name: "log", Text: story(40_000)}, {Name: "note", Text: "The last day."}}}
	for i := range 12 {
		in.Questions = append(in.Questions, fmt.Sprintf("What was seen on day %d?", 22*i*100))
	}
	in.Questions = append(in.Questions, "How many ships were there in all?")
	id := s.submitQA(in)
	again := func() {
		s.worker.kill()
		s.worker = s.start("worker")
	}
	for step := range 3 { // fetch, extract, index
		require.Eventually(t, func() bool {
			_, body := s.get("/v1/tasks/" + id)
			var now task.Task
			return json.Unmarshal([]byte(body), &now) == nil && now.Progress.StepIndex >= step
		}, time.Minute, 5*time.Millisecond)
		again()
	}
	isChat := func(c llmtest.Call) bool { return c.Inputs == nil }
	isFull := func(c llmtest.Call) bool {
		return isChat(c) && strings.Contains(c.Prompt, "part ") && strings.Contains(c.Prompt, "others read the other parts")
	}
	require.NoError(t, s.provider.WaitFor(s.soon(), 3)) // calls for vectors
	again()
	require.Eventually(t, func() bool { return count(s.provider.Calls(), isChat) >= 6 }, time.Minute, 5*time.Millisecond)
	again()
	require.Eventually(t, func() bool { return count(s.provider.Calls(), isFull) >= 9 }, time.Minute, 5*time.Millisecond)
	again()

	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	out := s.qaAnswers(id)
	for i, a := range out.Answers[:12] {
		require.True(t, a.Supported, a.Question)
		require.Contains(t, a.Citations[0].Quote, fmt.Sprintf("On day %d ", 22*i*100))
	}
	require.Equal(t, task.FullText, out.Answers[12].Mode)
	repeats := s.provider.Repeats()
	t.Logf("%d calls, %d repeated", s.provider.Counts().Total, len(repeats))
	require.LessOrEqual(t, len(repeats), 3*4, "only calls in flight at a kill are repeated")
	for prompt, n := range repeats {
		require.LessOrEqual(t, n, 3, prompt)
	}
}

// A worker that is killed at a random moment repeats no more calls than were in flight.
func TestQA_killedAtRandom(t *testing.T) {
	const atOnce = 4
	s := newStack(t, fmt.Sprintf("LONGHAUL_WORKER_LLM_CONCURRENCY=%d", atOnce), "LONGHAUL_LLM_CHUNK_TOKENS=1000")
	s.provider.Handle(answering(func(llmtest.Call) time.Duration { return 60 * time.Millisecond }))
	repeated := 0
	for round := range *kills {
		in := task.QAInput{Documents: []task.Document{{Name: "log", Text: fmt.Sprintf("Log of keeper %d.\n\n", round) + story(4_000)}}}
		for i := range 6 {
			in.Questions = append(in.Questions, fmt.Sprintf("What was seen on day %d?", 22*i*20))
		}
		id := s.submitQA(in)
		time.Sleep(time.Duration(rand.IntN(1200)) * time.Millisecond)
		s.worker.kill()
		s.worker = s.start("worker")
		done := s.finish(id)
		require.Equal(t, task.Full, done.Outcome, "round %d: %+v", round, done.Error)
		for i, a := range s.qaAnswers(id).Answers {
			require.Contains(t, a.Citations[0].Quote, fmt.Sprintf("On day %d ", 22*i*20))
		}
		again := len(s.provider.Repeats())
		// Twice the calls in flight, because on an overloaded machine a heartbeat of a living worker may come too late once.
		require.LessOrEqual(t, again-repeated, 2*atOnce, "round %d: only calls in flight are repeated", round)
		repeated = again
	}
	t.Logf("%d tasks, %d kills, %d calls, %d repeated", *kills, *kills, s.provider.Counts().Total, repeated)
}

func count(calls []llmtest.Call, is func(llmtest.Call) bool) (n int) {
	for _, call := range calls {
		if is(call) {
			n++
		}
	}
	return n
}

// A task that cannot be continued is refused at once, with a pointer to the field.
func TestQA_refusesPreviousTask(t *testing.T) {
	s := newStack(t)
	s.provider.On("[silent]", llmtest.Reply{End: llmtest.Silence})
	s.provider.Handle(answering(func(llmtest.Call) time.Duration { return 0 }))
	first := s.submitQA(task.QAInput{Documents: []task.Document{{Name: "log", Text: story(200)}}, Questions: []string{"What was seen on day 22?"}})
	require.Equal(t, task.Full, s.finish(first).Outcome)
	summary := s.submit(notes(1))
	running := s.submitQA(task.QAInput{Documents: []task.Document{{Text: "It lasts."}}, Questions: []string{"[silent]"}})
	follow := `{"kind":"qa","input":{"questions":["And on day 44?"],"previous_task_id":"%s"}}`
	for id, want := range map[string]struct {
		status int
		detail string
	}{
		"nonsense": {http.StatusUnprocessableEntity, "no task"},
		summary:    {http.StatusUnprocessableEntity, "kind summary"},
		running:    {http.StatusConflict, "has not ended yet"},
	} {
		status, body := s.post("/v1/tasks", fmt.Sprintf(follow, id))
		require.Equal(t, want.status, status, body)
		require.Contains(t, body, want.detail)
		require.Contains(t, body, `"/input/previous_task_id"`)
	}
	status, body := s.post("/v1/tasks", `{"kind":"qa","input":{"questions":["What?"]}}`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, body, "exactly one of documents, previous_task_id")

	require.NoError(t, s.provider.WaitFor(s.soon(), 3)) // one call of each task
	before := s.provider.Counts().Total
	done := s.finish(s.submitQA(task.QAInput{PreviousTaskID: first, Questions: []string{"And on day 44?"}}))
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, before+1, s.provider.Counts().Total)
	require.Contains(t, s.qaAnswers(done.ID).Answers[0].Citations[0].Quote, "On day 44 ")
}

// A QA task that continues as new many times repeats no call and loses no answer.
func TestQA_continueAsNew(t *testing.T) {
	s := newStackOn(t, localtemporal.Options{HistoryEvents: 60}, "LONGHAUL_LLM_CHUNK_TOKENS=200")
	s.provider.Handle(answering(func(llmtest.Call) time.Duration { return 0 }))
	in := task.QAInput{Documents: []task.Document{{Name: "log", Text: story(2_000)}}}
	for i := range 150 {
		in.Questions = append(in.Questions, fmt.Sprintf("Question %d: what was seen on day %d?", i, 22*(i%80)))
	}
	for i := range 5 {
		in.Questions = append(in.Questions, fmt.Sprintf("How many ships were there in all, %d?", i))
	}
	done := s.finish(s.submitQA(in))
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Equal(t, task.Counts{Total: 155, Succeeded: 155}, done.Progress.Counts)
	require.Empty(t, s.provider.Repeats())
	require.Greater(t, s.countRuns(done.ID), 2)
	requests := 0
	for _, call := range s.provider.Calls() {
		if call.Status == http.StatusOK {
			requests++
		}
	}
	require.EqualValues(t, requests, done.Usage.Requests)
}

// BenchmarkQAMillionWords asks a question about a million words in both modes, and follow-up questions.
func BenchmarkQAMillionWords(b *testing.B) {
	s := newStack(b, "LONGHAUL_API_MAX_BODY=16MiB", "LONGHAUL_WORKER_LLM_CONCURRENCY=32")
	s.warm()
	s.provider.Handle(answering(func(call llmtest.Call) time.Duration {
		if call.Inputs != nil {
			return 400 * time.Millisecond
		}
		return time.Second
	}))
	for range b.N {
		text := story(1_000_000)
		run := func(name string, in task.QAInput) string {
			s.provider.Reset()
			done := s.finish(s.submitQA(in))
			require.Equal(b, task.Full, done.Outcome, "%+v", done.Error)
			a := s.qaAnswers(done.ID).Answers[0]
			require.True(b, a.Supported, "%+v", a)
			vectors := count(s.provider.Calls(), func(c llmtest.Call) bool { return c.Inputs != nil })
			b.Logf("%s: wall %.1f s, calls %d for answers and %d for vectors, input tokens %d, chunks read %d, events %d, worker peak %.0f MB",
				name, done.FinishedAt.Sub(done.CreatedAt).Seconds(), s.provider.Counts().Total-vectors, vectors, done.Usage.InputTokens,
				a.ChunksRead, s.historyLength(done.ID), highWater(s.worker.cmd.Process.Pid))
			return done.ID
		}
		question := []string{"What was seen on day 500500?"}
		first := run("retrieve", task.QAInput{Documents: []task.Document{{Name: "log", Text: text}}, Questions: question})
		run("follow-up", task.QAInput{PreviousTaskID: first, Questions: []string{"And on day 22?"}})
		run("same text in a new task", task.QAInput{Documents: []task.Document{{Name: "log", Text: text}}, Questions: []string{"What was seen on day 44?"}})
		run("full", task.QAInput{Documents: []task.Document{{Name: "log", Text: text}}, Questions: question, Mode: task.FullText})
	}
}
