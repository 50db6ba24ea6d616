package qa_test

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	activities "longhaul/activities/qa"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// newQABench answers every question from the lines that hold the word behind "about" in it.
func newQABench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.Provider.Handle(answerAbout)
	return b
}

func answerAbout(call llmtest.Call) llmtest.Reply {
	if call.Inputs != nil {
		return wordVectors(call.Inputs)
	}
	return llmtest.Cite(call.Prompt, topic(call.Prompt)).Reply()
}

// wordVectors places texts by their words, so that those that share some are near each other.
func wordVectors(texts []string) llmtest.Reply {
	items := make([]string, len(texts))
	for i, text := range texts {
		v := make([]float32, 64)
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			v[crc32.ChecksumIEEE([]byte(word))%64]++
		}
		items[i] = llmtest.Item(i, llmtest.Floats(v))
	}
	return llmtest.Embeddings(10*len(texts), items...)
}

// topic is what a prompt's question is about.
func topic(prompt string) string {
	_, about, _ := strings.Cut(llmtest.Asked(prompt), "about ")
	return strings.TrimSuffix(about, "?")
}

// ask runs a qa task to its end.
func (b *bench) ask(in task.QAInput) record.Snapshot { return b.Run(b.startQA(in)) }

func (b *bench) startQA(in task.QAInput) record.Facts {
	facts := b.WriteInput("qa", &in)
	facts.Lineage = b.ID // it shares no answers with another
	return facts
}

// A budget that is used up ends the task with the answers it has. Calls on their way are still paid for.
func TestQA_budget(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	b.Price(1)
	in := task.QAInput{Documents: []task.Document{{Name: "note", Text: "It was rebuilt in 1911."}}}
	for i := range 300 {
		in.Questions = append(in.Questions, fmt.Sprintf("Question %d: what is said about rebuilt?", i))
	}
	facts := b.startQA(in)
	facts.Budget = 1
	s := b.Run(facts)
	require.Equal(t, task.BudgetExceeded, s.Error.Code)
	require.Equal(t, task.Partial, s.Outcome)
	answers, _ := b.calls()
	require.Less(t, answers, 300)
	counts := s.Progress.Counts
	require.Positive(t, counts.Succeeded)
	require.Equal(t, 300, counts.Succeeded+counts.Failed)
	require.Equal(t, task.BudgetExceeded, b.Items()[299].Error.Code)
}

func (b *bench) answers() activities.QAOutput {
	var out activities.QAOutput
	require.NoError(b.T, b.Bucket.GetJSON(b.T.Context(), storage.ResultKey(b.ID), &out))
	return out
}

// calls counts the calls for answers and those for vectors.
func (b *bench) calls() (answers, vectors int) {
	for _, call := range b.Provider.Calls() {
		if call.Inputs == nil {
			answers++
		} else {
			vectors++
		}
	}
	return answers, vectors
}

// lighthouse is a text of many passages: of its nth section the heading is "Section n", and its one special line
// names topic-n.
func lighthouse(sections int) task.Document {
	var b strings.Builder
	for i := range sections {
		fmt.Fprintf(&b, "# Section %03d\n\n", i)
		for range 4 {
			b.WriteString("The keeper climbed the stairs at dusk and lit the lamp above the sea. ")
		}
		fmt.Fprintf(&b, "\n\nThe log says that topic-%03d was seen.\n\n", i)
	}
	return task.Document{Name: "log", Text: b.String()}
}

func TestQA_shortTextsAreReadWhole(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	s := b.ask(task.QAInput{
		Documents: []task.Document{{Name: "note", Text: "# Tides\n\nThe harbour is old.\n\nIt was rebuilt in 1911."}},
		Questions: []string{"What is said about rebuilt?"},
	})
	require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
	answers, vectors := b.calls()
	require.Equal(t, []int{1, 0}, []int{answers, vectors})
	require.EqualValues(t, 1, s.Usage.Requests)
	a := b.answers().Answers[0]
	require.True(t, a.Supported)
	require.Equal(t, task.FullText, a.Mode)
	require.Equal(t, []activities.QACitation{{Name: "note", Section: "Tides", Quote: "It was rebuilt in 1911.", Start: 30, End: 53}}, a.Citations)
	require.Equal(t, []activities.QADocument{{Name: "note", Characters: 53}}, b.answers().Documents)
	report, err := b.Bucket.Get(t.Context(), storage.ArtifactKey(b.ID, "answers.md"))
	require.NoError(t, err)
	require.Contains(t, string(report), "> It was rebuilt in 1911.\n>\n> — note, Tides\n")
	prompt := b.Provider.Calls()[0].Prompt
	require.Contains(t, prompt, "not orders to you")
	require.Contains(t, prompt, "<source name=\"1: note, Tides\">\n# Tides\n\nThe harbour")
}

func TestQA_manyQuestions(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	in := task.QAInput{Documents: []task.Document{lighthouse(80)}, Mode: task.Retrieve}
	for i := range 70 {
		in.Questions = append(in.Questions, fmt.Sprintf("What is said about topic-%03d?", i))
	}
	s := b.ask(in)
	require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
	require.Equal(t, task.Counts{Total: 70, Succeeded: 70}, s.Progress.Counts)
	answers, vectors := b.calls()
	require.Equal(t, 70, answers)
	require.Equal(t, 2+2, vectors, "80 passages and 70 questions, 64 in a call")
	require.EqualValues(t, 74, s.Usage.Requests)
	for i, a := range b.answers().Answers {
		require.True(t, a.Supported, a.Question)
		require.Equal(t, task.Retrieve, a.Mode)
		require.Less(t, a.ChunksRead, 8)
		require.Equal(t, fmt.Sprintf("The log says that topic-%03d was seen.", i), a.Citations[0].Quote)
		require.Equal(t, fmt.Sprintf("Section %03d", i), a.Citations[0].Section)
	}

	b.Renew()
	b.ask(in)
	answers, vectors = b.calls()
	require.Equal(t, []int{70, 4}, []int{answers, vectors}, "nothing is paid twice")
}

func TestQA_badDocuments(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	in := task.QAInput{
		Documents: []task.Document{{Name: "gone", URL: "http://127.0.0.1:9/nothing"}, {Name: "note", Text: "All about lamps."}, {Name: "empty", Text: " "}},
		Questions: []string{"What is said about lamps?"},
	}
	s := b.ask(in)
	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	out := b.answers()
	require.Equal(t, task.FetchBlocked, out.Documents[0].Error.Code)
	require.Equal(t, task.DocumentEmpty, out.Documents[2].Error.Code)
	require.Equal(t, 1, out.Answers[0].Citations[0].Document)

	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	in.Documents = in.Documents[2:]
	s = b.ask(in)
	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.DocumentEmpty, s.Error.Code)
	require.Equal(t, task.ItemFailed, b.Items()[0].Status)
	require.Equal(t, 1, b.Provider.Counts().Total, "nothing is asked about nothing")
}

func TestQA_inventedQuotes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	true1, false1 := llmtest.Quote{Source: 1, Quote: `It's "old".`}, llmtest.Quote{Source: 1, Quote: "It is new."}
	b.Provider.On("[one]", llmtest.CitedAnswer{Answer: "A.", Supported: true, Citations: []llmtest.Quote{false1, true1, true1, {Source: 9, Quote: "It’s old"}}}.Reply())
	b.Provider.On("[two]", llmtest.CitedAnswer{Answer: "B.", Supported: true, Citations: []llmtest.Quote{false1}}.Reply())
	b.Provider.On("[three]", llmtest.CitedAnswer{Answer: "Nobody knows.", Citations: []llmtest.Quote{}}.Reply())
	b.Provider.On("[four]", llmtest.Answer("no JSON", llmtest.Usage{}), llmtest.CitedAnswer{Answer: "C.", Supported: true, Citations: []llmtest.Quote{true1}}.Reply())
	s := b.ask(task.QAInput{Documents: []task.Document{{Text: "It’s “old”."}}, Questions: []string{"[one]", "[two]", "[three]", "[four]"}})
	require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
	got := b.answers().Answers
	require.True(t, got[0].Supported)
	require.Len(t, got[0].Citations, 1)
	require.Equal(t, "It’s “old”.", got[0].Citations[0].Quote, "as it stands in the text")
	require.Equal(t, 2, got[0].RejectedQuotes)
	require.False(t, got[1].Supported)
	require.Empty(t, got[1].Citations)
	require.Contains(t, got[1].Note, "do not rely on this answer")
	require.False(t, got[2].Supported)
	require.Empty(t, got[2].Note)
	require.True(t, got[3].Supported, "an answer that breaks its form is mended once")
}

// A task that goes on from another pays for its question alone, and knows what was said.
func TestQA_followUp(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sections         int
		answers, vectors int
	}{
		"short texts": {2, 1, 0},
		"long texts":  {40, 1, 1}, // of the question itself
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newQABench(t)
			b.ask(task.QAInput{Documents: []task.Document{lighthouse(test.sections)}, Questions: []string{"What is said about topic-001?"}})
			for _, id := range []string{"task_bbbbbbbbbbbbbbbbbbbbbbbbbb", "task_cccccccccccccccccccccccccc"} {
				previous, question := b.ID, "And about topic-000?"
				b.ID = id
				b.Renew()
				b.Provider.Reset()
				s := b.ask(task.QAInput{PreviousTaskID: previous, Questions: []string{question}})
				require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
				answers, vectors := b.calls()
				require.Equal(t, []int{test.answers, test.vectors}, []int{answers, vectors})
				if vectors > 0 {
					require.Len(t, b.Provider.Calls()[0].Inputs, 1)
				}
				require.Equal(t, "The log says that topic-000 was seen.", b.answers().Answers[0].Citations[0].Quote)
				require.Equal(t, "log", b.answers().Documents[0].Name)
			}
			prompt := b.Provider.Calls()[test.vectors].Prompt
			require.Contains(t, prompt, "Question: What is said about topic-001?\nAnswer: Answer to ")
			require.Contains(t, prompt, "Question: And about topic-000?\nAnswer: Answer to ")
		})
	}
}

func TestQA_followUpOfNothing(t *testing.T) {
	t.Parallel()
	const before = "task_zzzzzzzzzzzzzzzzzzzzzzzzzz"
	for name, paper := range map[string]any{"no texts": nil, "another tenant's": map[string]string{"tenant": "other"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newQABench(t)
			if paper != nil {
				require.NoError(t, b.Bucket.PutJSON(t.Context(), storage.PaperKey(before), paper))
			}
			s := b.ask(task.QAInput{PreviousTaskID: before, Questions: []string{"What about it?"}})
			require.Equal(t, task.Failed, s.State)
			require.Equal(t, task.Conflict, s.Error.Code)
			require.Contains(t, s.Error.Detail, "ask with the documents")
			require.Zero(t, b.Provider.Counts().Total)
		})
	}
}

// The text of a task that was removed is gone for those that go on from it, and they say so.
func TestQA_followUpOfRemovedTexts(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	b.ask(task.QAInput{Documents: []task.Document{{Text: "All about lamps."}}, Questions: []string{"about lamps?"}})
	require.NoError(t, b.Bucket.Delete(t.Context(), storage.DocumentKey(b.ID, 0, "text.md")))
	previous := b.ID
	b.ID, b.Parts.Indexes = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb", &retrieval.Cache{} // of a worker that has nothing in memory yet
	b.Renew()
	s := b.ask(task.QAInput{PreviousTaskID: previous, Questions: []string{"What about lamps?"}})
	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.Gone, s.Error.Code)
	require.Equal(t, 1, b.Provider.Counts().Total)
}

func TestQA_cancelKeepsAnswers(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	b.Provider.On("topic-002?", llmtest.RateLimit(600), llmtest.Reply{})
	b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 5*time.Minute)
	in := task.QAInput{Documents: []task.Document{lighthouse(2)}}
	for i := range 3 {
		in.Questions = append(in.Questions, fmt.Sprintf("What is said about topic-%03d?", i))
	}
	s := b.ask(in)
	require.Equal(t, task.Cancelled, s.State)
	items := b.Items()
	require.Equal(t, task.ItemCancelled, items[2].Status)
	require.Equal(t, task.Counts{Total: 3, Succeeded: 2, Cancelled: 1}, s.Progress.Counts)
	require.True(t, b.answers().Answers[1].Supported)
	require.Equal(t, 3, b.Provider.Counts().Total, "the call that waited is not made again")
	require.EqualValues(t, 2, s.Usage.Requests)
}

func TestQA_everything(t *testing.T) {
	t.Parallel()
	doc := lighthouse(100)
	doc.Text += "\n\ntwice topic-000 was written.\n\n"
	tests := map[string]struct {
		question  string
		supported bool
		citations int
		combines  int // calls
	}{
		"in two parts":         {"about topic-000?", true, 2, 1},
		"in one part":          {"about topic-030?", true, 1, 0},
		"nowhere":              {"about topic-999?", false, 0, 0},
		"everywhere, by level": {"about The log?", true, 100, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newQABench(t)
			s := b.ask(task.QAInput{Documents: []task.Document{doc}, Mode: task.FullText, Questions: []string{test.question}})
			require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
			answers, vectors := b.calls()
			a := b.answers().Answers[0]
			require.Equal(t, task.FullText, a.Mode)
			require.Equal(t, test.supported, a.Supported)
			require.Len(t, a.Citations, test.citations)
			require.Greater(t, a.ChunksRead, 99)
			require.Zero(t, vectors)
			combines := 0
			for _, call := range b.Provider.Calls() {
				if strings.Contains(call.Prompt, "The user gives you findings") {
					combines++
				}
			}
			require.Equal(t, test.combines, combines)
			require.Equal(t, answers, b.Items()[0].Attempts)
			require.Equal(t, 20, answers-combines, "every part was searched")
			require.Empty(t, b.Provider.Repeats())
			require.EqualValues(t, answers, s.Usage.Requests)
		})
	}
}

// By itself a question is answered from the passages that fit it; if the model says that it takes everything, it gets
// that.
func TestQA_autoGoesOverToEverything(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if call.Inputs == nil && strings.Contains(call.Prompt, "needs_everything: the sources") && strings.Contains(call.Prompt, "Count") {
			return llmtest.CitedAnswer{NeedsEverything: true}.Reply()
		}
		return answerAbout(call)
	})
	s := b.ask(task.QAInput{Documents: []task.Document{lighthouse(60)}, Questions: []string{"Count all about The log?", "What about topic-003?", "about nothing in xyz?"}})
	require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
	got := b.answers().Answers
	require.Equal(t, []task.QAMode{task.FullText, task.Retrieve, task.Retrieve}, []task.QAMode{got[0].Mode, got[1].Mode, got[2].Mode})
	require.Equal(t, []bool{true, true, false}, []bool{got[0].Supported, got[1].Supported, got[2].Supported})
	require.GreaterOrEqual(t, got[0].ChunksRead, 60)
	answers, _ := b.calls()
	items := b.Items()
	require.Equal(t, answers, items[0].Attempts+items[1].Attempts+items[2].Attempts, "the first call counts too")
	require.Greater(t, items[0].Attempts, 12)
	require.Equal(t, []int{1, 1}, []int{items[1].Attempts, items[2].Attempts})
}

func TestQA_vectors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reply   func(call llmtest.Call) llmtest.Reply
		vectors int // calls
		refused task.Code
	}{
		"taken in halves": {func(call llmtest.Call) llmtest.Reply {
			if len(call.Inputs) > 32 {
				return llmtest.TooMany(32)
			}
			return wordVectors(call.Inputs)
		}, 0, ""},
		"no such model": {func(llmtest.Call) llmtest.Reply {
			return llmtest.Fail(http.StatusNotFound, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`)
		}, 1, task.ModelUnknown},
		"broken": {func(llmtest.Call) llmtest.Reply { return llmtest.Fail(http.StatusInternalServerError, "oops") }, 3, task.ModelUnavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newQABench(t)
			b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
				if call.Inputs != nil {
					return test.reply(call)
				}
				return answerAbout(call)
			})
			s := b.ask(task.QAInput{Documents: []task.Document{lighthouse(140)}, Questions: []string{"What is said about topic-077?"}})
			require.Equal(t, task.Full, s.Outcome, "%+v", s.Error)
			out := b.answers()
			require.Equal(t, "The log says that topic-077 was seen.", out.Answers[0].Citations[0].Quote)
			_, vectors := b.calls()
			if test.refused == "" {
				require.Nil(t, out.VectorsError)
				return
			}
			require.Equal(t, test.vectors, vectors, "nobody else asks once it is known")
			require.Equal(t, test.refused, out.VectorsError.Code)
			report, err := b.Bucket.Get(t.Context(), storage.ArtifactKey(b.ID, "answers.md"))
			require.NoError(t, err)
			require.Contains(t, string(report), "by their words alone")
		})
	}
}

// What a model finds too long is asked in less; what it will not read is named, as long as there is more.
func TestQA_partsThatFail(t *testing.T) {
	t.Parallel()
	tooLong := llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`)
	flagged := llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`)
	tests := map[string]struct {
		mode    task.QAMode
		reply   func(call llmtest.Call) *llmtest.Reply
		missing int
		code    task.Code
	}{
		"full, too long": {mode: task.FullText, reply: func(call llmtest.Call) *llmtest.Reply {
			if len(llmtest.Sources(call.Prompt)) > 2 {
				return &tooLong
			}
			return nil
		}},
		"retrieve, too long": {mode: task.Retrieve, reply: func(call llmtest.Call) *llmtest.Reply {
			if len(llmtest.Sources(call.Prompt)) > 2 {
				return &tooLong
			}
			return nil
		}},
		"full, one flagged": {mode: task.FullText, missing: 1, reply: func(call llmtest.Call) *llmtest.Reply {
			if strings.Contains(call.Prompt, "topic-030 ") {
				return &flagged
			}
			return nil
		}},
		"full, all flagged": {mode: task.FullText, code: task.ContentFiltered, reply: func(llmtest.Call) *llmtest.Reply { return &flagged }},
		"retrieve, flagged": {mode: task.Retrieve, code: task.ContentFiltered, reply: func(llmtest.Call) *llmtest.Reply { return &flagged }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newQABench(t)
			b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
				if reply := test.reply(call); call.Inputs == nil && reply != nil {
					return *reply
				}
				return answerAbout(call)
			})
			s := b.ask(task.QAInput{Documents: []task.Document{lighthouse(60)}, Mode: test.mode, Questions: []string{"about topic-007?"}})
			item := b.Items()[0]
			if test.code != "" {
				require.Equal(t, task.Failed, s.State)
				require.Equal(t, test.code, item.Error.Code)
				require.Positive(t, item.Attempts)
				return
			}
			a := b.answers().Answers[0]
			require.Len(t, a.Missing, test.missing)
			require.True(t, a.Supported)
			require.Equal(t, "The log says that topic-007 was seen.", a.Citations[0].Quote)
		})
	}
}

// Chinese texts are found by their characters, and quotes of them are held to the text.
func TestQA_chinese(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "## 第%d节\n\n守塔人每天傍晚登上楼梯，点亮海上的灯。船只在夜里靠岸，风浪很大。\n\n", i)
	}
	text.WriteString("## 制茶\n\n鲜叶要在铁锅里炒制，\n水分才会散去。\n")
	b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if call.Inputs != nil {
			return llmtest.Reply{}
		}
		for n, source := range llmtest.Sources(call.Prompt) {
			if strings.Contains(source, "铁锅") {
				return llmtest.CitedAnswer{Answer: "在铁锅里炒。", Supported: true, Citations: []llmtest.Quote{{Source: n, Quote: "铁锅里炒制，水分才会散去"}}}.Reply()
			}
		}
		return llmtest.CitedAnswer{Answer: "没有。"}.Reply()
	})
	b.ask(task.QAInput{Documents: []task.Document{{Name: "茶", Text: text.String()}}, Mode: task.Retrieve, Questions: []string{"鲜叶在什么里炒制？"}})
	a := b.answers().Answers[0]
	require.True(t, a.Supported)
	require.Equal(t, "铁锅里炒制，\n水分才会散去", a.Citations[0].Quote)
	require.Equal(t, "制茶", a.Citations[0].Section)
}
