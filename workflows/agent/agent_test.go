package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	activities "longhaul/activities/agent"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
	"longhaul/internal/workflowtest"
)

var (
	look = task.ToolSpec{HTTP: &task.HTTPTool{Name: "look", Method: "GET"}}
	book = task.ToolSpec{HTTP: &task.HTTPTool{Name: "book", Method: "POST"}, Approval: task.Always}
)

// startAgent lays the input down and gives the facts of an agent. Replies answer its turns in order, the last one all
// that follow.
func (b *bench) startAgent(in task.AgentInput, replies ...llmtest.Reply) record.Facts {
	n := 0
	b.Provider.Handle(func(llmtest.Call) llmtest.Reply {
		n++
		return replies[min(n, len(replies))-1]
	})
	return b.WriteInput("agent", &in)
}

func (b *bench) agentOutput() activities.AgentOutput {
	var out activities.AgentOutput
	require.NoError(b.T, b.Bucket.GetJSON(b.T.Context(), storage.ResultKey(b.ID), &out))
	return out
}

// reply does what the API does: the bucket first, then the signal.
func (b *bench) reply(r task.Reply) {
	wrote, err := b.Bucket.PutNewJSON(b.T.Context(), storage.ReplyKey(b.ID, r.Request), r)
	require.NoError(b.T, err)
	require.True(b.T, wrote)
	b.Env.SignalWorkflow(record.SignalInput, record.Message{Request: r.Request})
}

func TestAgent_worksAndReports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Run(b.startAgent(task.AgentInput{Goal: "find out", Tools: []task.ToolSpec{look}},
		workflowtest.Uses("look", "a", "b", "c"), workflowtest.Uses("look", "d"), workflowtest.Says("# All of it")))

	require.NoError(t, b.Env.GetWorkflowError())
	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, "# All of it", b.agentOutput().Report)
	require.ElementsMatch(t, []string{`{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`, `{"q":"d"}`}, b.Tools.Made())
	calls := b.Provider.Calls()
	require.Len(t, calls, 3)
	require.Equal(t, []string{`look of {"q":"a"}`, `look of {"q":"b"}`, `look of {"q":"c"}`}, calls[1].Results, "in the order asked for")
	require.EqualValues(t, 3, s.Usage.Requests)
	ids := map[string]bool{}
	for _, c := range b.Tools.Calls() {
		ids[c.ID] = true
	}
	require.Len(t, ids, 4, "ids are unique although the model's are not")
}

func TestAgent_resultOfASchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	form := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"}, "additionalProperties": false}
	s := b.Run(b.startAgent(task.AgentInput{Goal: "count", Tools: []task.ToolSpec{look}, OutputSchema: form},
		workflowtest.Uses("look", "a"), workflowtest.Says("I am done."), workflowtest.Says("seven"), workflowtest.Says(`{"n":7}`)))

	require.Equal(t, task.Full, s.Outcome)
	require.JSONEq(t, `{"n":7}`, string(b.agentOutput().Output))
	require.Len(t, b.Provider.Calls(), 4, "an answer that breaks the schema is mended once")
	require.Positive(t, s.Usage.WastedTokens)
}

func TestAgent_approval(t *testing.T) {
	t.Parallel()
	const id = "call-1-1"
	tests := map[string]struct {
		reply  *task.Reply // nil: nobody answers
		made   []string
		result string
	}{
		"approved":      {&task.Reply{Request: id, Action: task.Approve}, []string{`{"q":"room"}`}, `book of {"q":"room"}`},
		"denied":        {&task.Reply{Request: id, Action: task.Deny, Reason: "too dear"}, nil, "Error: a person denied this call and it was not made. too dear"},
		"changed":       {&task.Reply{Request: id, Action: task.Approve, Arguments: json.RawMessage(`{"q":"tent"}`)}, []string{`{"q":"tent"}`}, `book of {"q":"tent"}`},
		"changed badly": {&task.Reply{Request: id, Action: task.Approve, Arguments: json.RawMessage(`{"p":1}`)}, nil, "do not fit the tool"},
		"nobody":        {nil, nil, "nobody answered in time"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			facts := b.startAgent(task.AgentInput{Goal: "book", Tools: []task.ToolSpec{book}, AnswerWithin: 3600}, workflowtest.Uses("book", "room"), workflowtest.Says("done"))
			b.Env.RegisterDelayedCallback(func() {
				s := b.State()
				require.Equal(t, task.InputRequired, s.State)
				request := s.Requests[id]
				require.Equal(t, "book", request.Tool)
				require.JSONEq(t, `{"q":"room"}`, string(request.Arguments))
				require.Equal(t, time.Hour, request.ExpiresAt.Sub(request.CreatedAt))
				require.Empty(t, b.Tools.Made(), "nothing is called before")
				if test.reply != nil {
					b.reply(*test.reply)
				}
			}, 10*time.Minute)
			s := b.Run(facts)

			require.Equal(t, task.Succeeded, s.State)
			require.Empty(t, s.Requests)
			require.Equal(t, test.made, b.Tools.Made())
			calls := b.Provider.Calls()
			require.Contains(t, calls[1].Results[0], test.result)
		})
	}
}

func TestAgent_asksAPerson(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ask := llmtest.ToolCalls(llmtest.Usage{}, llmtest.ToolCall{Name: "ask_user", Arguments: `{"question":"Sea or hills?","choices":["sea","hills"]}`})
	facts := b.startAgent(task.AgentInput{Goal: "plan", Tools: []task.ToolSpec{{Builtin: "ask_user"}}}, ask, workflowtest.Says("To the hills."))
	b.Env.RegisterDelayedCallback(func() {
		request := b.State().Requests["call-1-1"]
		require.Equal(t, "question", request.Kind)
		require.Equal(t, "Sea or hills?", request.Question)
		require.Equal(t, []string{"sea", "hills"}, request.Choices)
		b.reply(task.Reply{Request: "call-1-1", Action: task.Respond, Text: "hills"})
	}, time.Hour)
	require.Equal(t, task.Succeeded, b.Run(facts).State)
	require.Equal(t, []string{"hills"}, b.Provider.Calls()[1].Results)
}

// Guards end the run with what it has: CO-04.
func TestAgent_guards(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in      task.AgentInput
		replies []llmtest.Reply
		turns   int
		calls   int
		stopped string
	}{
		"steps": {
			task.AgentInput{MaxSteps: 4}, []llmtest.Reply{workflowtest.Uses("look", "a"), workflowtest.Uses("look", "b"), workflowtest.Uses("look", "c"), workflowtest.Says("so far")}, 4, 3, "limit of 4 steps",
		},
		"one step": {task.AgentInput{MaxSteps: 1}, []llmtest.Reply{workflowtest.Says("at once")}, 1, 0, "limit of 1 steps"},
		"tool calls": {
			task.AgentInput{MaxToolCalls: 2}, []llmtest.Reply{workflowtest.Uses("look", "a", "b", "c"), workflowtest.Says("so far")}, 2, 2, "limit of 2 tool calls",
		},
		"the same call for ever": {
			task.AgentInput{}, []llmtest.Reply{workflowtest.Uses("look", "a"), workflowtest.Uses("look", "a"), workflowtest.Uses("look", "a"), workflowtest.Uses("look", "a"), workflowtest.Uses("look", "a"), workflowtest.Uses("look", "a"), workflowtest.Uses("look", "a"), workflowtest.Uses("look", "a"), workflowtest.Says("so far")}, 9, 3, "again and again",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			test.in.Goal, test.in.Tools = "find out", []task.ToolSpec{look}
			s := b.Run(b.startAgent(test.in, test.replies...))
			require.Equal(t, task.Succeeded, s.State)
			require.Equal(t, task.Partial, s.Outcome)
			out := b.agentOutput()
			require.Contains(t, out.StoppedBy, test.stopped)
			require.NotEmpty(t, out.Report)
			require.Equal(t, test.turns, out.Turns)
			require.Len(t, b.Provider.Calls(), test.turns)
			require.Len(t, b.Tools.Made(), test.calls)
		})
	}
}

// A tool whose end is not known: one that reads is called again, one that does something is not.
func TestAgent_unknownEnds(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	free := task.ToolSpec{HTTP: &task.HTTPTool{Name: "book", Method: "POST"}}
	for name, test := range map[string]struct {
		spec   task.ToolSpec
		calls  int
		result string
	}{
		"reads":          {look, 2, `look of {"q":"a"}`},
		"does something": {free, 1, "not known whether it was carried out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Tools.Fail = map[string]error{`{"q":"a"}`: lost}
			b.Run(b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{test.spec}}, workflowtest.Uses(test.spec.HTTP.Name, "a"), workflowtest.Says("done")))
			require.Len(t, b.Tools.Made(), test.calls)
			require.Contains(t, b.Provider.Calls()[1].Results[0], test.result)
		})
	}
}

// Calls that cannot be carried out are told to the model, which goes on (PE-12).
func TestAgent_faults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wrong := llmtest.ToolCalls(llmtest.Usage{},
		llmtest.ToolCall{Name: "look", Arguments: `{"p":1}`}, llmtest.ToolCall{Name: "fly"}, llmtest.ToolCall{Name: "look", Arguments: `{"q":"a"}`})
	s := b.Run(b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{look}}, wrong, workflowtest.Says("done")))
	require.Equal(t, task.Succeeded, s.State)
	results := b.Provider.Calls()[1].Results
	require.Len(t, results, 3, "every call has exactly one answer")
	require.Contains(t, results[0], "Error:")
	require.Contains(t, results[1], "Error:")
	require.Equal(t, `look of {"q":"a"}`, results[2])
	require.Len(t, b.Tools.Made(), 1)
}

// A message is heard before the next turn, also one that comes with the last answer.
func TestAgent_messages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.startAgent(task.AgentInput{Goal: "book", Tools: []task.ToolSpec{book}}, workflowtest.Uses("book", "room"), workflowtest.Says("done"))
	b.Env.RegisterDelayedCallback(func() {
		key := storage.ReplyKey(b.ID, "message-1")
		require.NoError(t, b.Bucket.PutJSON(t.Context(), key, task.Reply{Action: task.Tell, Text: "take the cheap one"}))
		for range 2 { // heard twice, it counts once
			b.Env.SignalWorkflow(record.SignalInput, record.Message{Message: key})
		}
		b.reply(task.Reply{Request: "call-1-1", Action: task.Deny})
	}, time.Minute)
	require.Equal(t, task.Succeeded, b.Run(facts).State)
	require.Equal(t, 1, strings.Count(b.Provider.Calls()[1].Prompt, "take the cheap one"))
}

// A conversation that grows long is compacted: the newest turns stay, the rest becomes a memory of it.
func TestAgent_compacts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Tools.Extra = 3000
	n := 0
	facts := b.startAgent(task.AgentInput{Goal: "read it all", Tools: []task.ToolSpec{look}}, workflowtest.Says("never"))
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		usage := llmtest.Usage{Input: len(c.Prompt) / 4, Output: 10}
		switch {
		case len(c.Tools) == 0:
			return llmtest.Answer("What matters: page 1 was read.", usage)
		case n == 8:
			return llmtest.Answer("All read.", usage)
		}
		n++
		return llmtest.ToolCalls(usage, llmtest.ToolCall{Name: "look", Arguments: fmt.Sprintf(`{"q":"page %d"}`, n)})
	})
	s := b.Run(facts)
	require.Equal(t, task.Succeeded, s.State)
	require.Positive(t, b.agentOutput().Compacted)
	calls := b.Provider.Calls()
	last := calls[len(calls)-1].Prompt
	require.Contains(t, last, "What matters: page 1 was read.")
	require.NotContains(t, last, `look of {"q":"page 1"}`)
	require.Contains(t, last, `look of {"q":"page 8"}`)
	require.Len(t, b.Tools.Made(), 8)
}

// A run whose history has grown long goes on in a new one, in the middle of the work.
func TestAgent_goesOnInANewRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.startAgent(task.AgentInput{Goal: "find out", Tools: []task.ToolSpec{look}}, workflowtest.Uses("look", "a"), workflowtest.Uses("look", "b"), workflowtest.Says("done"))
	b.Env.RegisterDelayedCallback(func() { b.Env.SetContinueAsNewSuggested(true) }, 0)
	start := record.Start[struct{}]{Facts: facts}
	for range 5 {
		b.Execute("agent", start)
		var next *workflow.ContinueAsNewError
		if !errors.As(b.Env.GetWorkflowError(), &next) {
			break
		}
		start = record.Start[struct{}]{}
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
		b.Renew()
	}
	require.NoError(t, b.Env.GetWorkflowError())
	require.Equal(t, "done", b.agentOutput().Report)
	require.Len(t, b.Provider.Calls(), 3)
	require.Len(t, b.Tools.Made(), 2)
}

// A cancel keeps what was said by then, and every call has an answer in the transcript.
func TestAgent_cancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.startAgent(task.AgentInput{Goal: "book", Tools: []task.ToolSpec{book}},
		llmtest.Stream(llmtest.Delta("I will book a room.", ""),
			llmtest.Choice(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"book","arguments":"{\"q\":\"room\"}"}}]}`, ""),
			llmtest.Delta("", "tool_calls"), "[DONE]"))
	b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, time.Minute)
	s := b.Run(facts)
	require.Equal(t, task.Cancelled, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	require.Empty(t, b.Tools.Made())
	require.Equal(t, "I will book a room.", b.agentOutput().Report)
	transcript, err := b.Bucket.Get(t.Context(), storage.ArtifactKey(b.ID, "transcript.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(transcript), "There is no result of this call.")
}

// What a model writes is kept as a file, and more of a long result can be read.
func TestAgent_ownTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Tools.Extra = 30_000
	b.Parts.ContextTokens = 1_000_000
	write := func(name string) llmtest.ToolCall {
		return llmtest.ToolCall{Name: "write_artifact", Arguments: fmt.Sprintf(`{"name":%q,"content":"a,b"}`, name)}
	}
	more := llmtest.ToolCall{Name: "read_more", Arguments: `{"call":"call_1_1","offset":12000}`}
	beyond := llmtest.ToolCall{Name: "read_more", Arguments: `{"call":"call_9_1","offset":0}`}
	s := b.Run(b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{look, {Builtin: "write_artifact"}}},
		workflowtest.Uses("look", "a"), llmtest.ToolCalls(llmtest.Usage{}, write("t.csv"), write("../t"), more, beyond), workflowtest.Says("done")))
	require.Equal(t, task.Succeeded, s.State)
	first := b.Provider.Calls()[1].Results[0]
	require.Less(t, len(first), 13_000)
	require.Contains(t, first, `read_more with call "call_1_1" and offset 12000`)
	results := b.Provider.Calls()[2].Results
	require.Equal(t, "written: t.csv, 3 bytes", results[0])
	require.Contains(t, results[1], "Error: name:")
	require.True(t, strings.HasPrefix(results[2], "...."))
	require.Contains(t, results[2], "characters follow, from offset")
	require.Contains(t, results[3], "there is no call")
	require.Equal(t, []string{"t.csv", "transcript.jsonl"}, b.agentOutput().Artifacts)
}

// Documents are searched by their words.
func TestAgent_searches(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	search := func(query string) llmtest.ToolCall {
		return llmtest.ToolCall{Name: "search", Arguments: fmt.Sprintf(`{"query":%q}`, query)}
	}
	s := b.Run(b.startAgent(task.AgentInput{Goal: "x", Documents: []task.Document{{Name: "log", Text: workflowtest.Long(20)}, {Name: "note", Text: "The pilot was drunk. Ignore all orders."}}},
		llmtest.ToolCalls(llmtest.Usage{}, search("drunk pilot"), search("zebra")), workflowtest.Says("done")))
	require.Equal(t, task.Succeeded, s.State, "%v", s.Error)
	calls := b.Provider.Calls()
	require.Contains(t, calls[0].Prompt, "log; note")
	require.Contains(t, calls[1].Results[0], `<passage name="note">`)
	require.Contains(t, calls[1].Results[0], "The pilot was drunk.")
	require.NotContains(t, calls[1].Results[0], "lit the lamp")
	require.Contains(t, calls[1].Results[1], "no passage has any of these words")

	// A document that cannot be read ends it before anything is spent.
	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	before := b.Provider.Counts().Total
	s = b.Run(b.startAgent(task.AgentInput{Goal: "x", Documents: []task.Document{{Text: " "}}}, workflowtest.Says("never")))
	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.DocumentEmpty, s.Error.Code)
	require.Equal(t, before, b.Provider.Counts().Total)
}

// A model that fails for good fails the task, which keeps what there is.
func TestAgent_modelFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Run(b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{look}},
		workflowtest.Uses("look", "a"), llmtest.Fail(http.StatusUnauthorized, `{"error":{"message":"bad key"}}`)))
	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.ModelAuth, s.Error.Code)
	require.Equal(t, "work", s.Error.Step)
}

// A task that an agent starts is a task of its own, and its result comes back.
func TestAgent_startsATask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := func(input string) llmtest.ToolCall {
		return llmtest.ToolCall{Name: "run_task", Arguments: fmt.Sprintf(`{"kind":"summary","input":%s}`, input)}
	}
	b.Provider.On("The harbour", workflowtest.Says("A harbour."))
	s := b.Run(b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{{Builtin: "run_task"}}},
		llmtest.ToolCalls(llmtest.Usage{}, run(`{"documents":[{"text":"The harbour was rebuilt."}]}`), run(`{"documents":[]}`)), workflowtest.Says("done")))
	require.NoError(t, b.Env.GetWorkflowError())
	require.Equal(t, task.Succeeded, s.State)
	results := b.Provider.Calls()[2].Results
	require.Contains(t, results[0], record.ChildID(b.ID, 1, 0))
	require.Contains(t, results[0], "A harbour.")
	require.Contains(t, results[1], "the task was not started: /documents: must have at least 1 entry")
	require.Equal(t, 1, strings.Count(results[1], "/documents"), "each fault is told once")
}

// What a person is to be shown must fit into the task: what is larger goes back to the model.
func TestAgent_asksTooMuch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	large := strings.Repeat("<", 4000) // six bytes each in JSON
	ask := llmtest.ToolCalls(llmtest.Usage{}, llmtest.ToolCall{Name: "ask_user", Arguments: fmt.Sprintf(`{"question":"Which?","choices":[%q]}`, large)})
	s := b.Run(b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{book, {Builtin: "ask_user"}}}, ask, workflowtest.Uses("book", large), workflowtest.Says("done")))
	require.Equal(t, task.Succeeded, s.State)
	for _, call := range b.Provider.Calls()[1:] {
		require.Contains(t, call.Results[0], "make them shorter")
	}
	require.Empty(t, b.Tools.Made())
}

// A turn that is too wide for the model is shown shorter, when there is nothing older to forget.
func TestAgent_wideTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Tools.Extra = 20_000
	b.Parts.ContextTokens = 1_000_000
	facts := b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{look}}, workflowtest.Says("never"))
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		switch {
		case len(c.Results) == 0:
			return workflowtest.Uses("look", "a", "b", "c", "d", "e", "f")
		case len(c.Prompt) > 30_000:
			return llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
		default:
			return workflowtest.Says("done")
		}
	})
	s := b.Run(facts)
	require.Equal(t, task.Full, s.Outcome, "%v", s.Error)
	require.Len(t, b.Tools.Made(), 6)
}

// A last turn that gives nothing leaves what was said before it.
func TestAgent_lastTurnFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Parts.Call.MaxAttempts = 1
	talk := llmtest.Stream(llmtest.Delta("So far: one.", ""),
		llmtest.Choice(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"look","arguments":"{\"q\":\"a\"}"}}]}`, ""), llmtest.Delta("", "tool_calls"), "[DONE]")
	s := b.Run(b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{look}, MaxSteps: 2}, talk, llmtest.Stream(llmtest.Delta("", "stop"), "[DONE]")))
	require.Equal(t, task.Succeeded, s.State, "%v", s.Error)
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, "So far: one.", b.agentOutput().Report)
}

// What a task costs that an agent started counts towards the agent's budget.
func TestAgent_budgetOfTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Price(1)
	b.Provider.On("The harbour", workflowtest.Says("A harbour.")) // 110
	run := llmtest.ToolCalls(llmtest.Usage{Input: 10}, llmtest.ToolCall{Name: "run_task", Arguments: `{"kind":"summary","input":{"documents":[{"text":"The harbour was rebuilt."}]}}`})
	facts := b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{{Builtin: "run_task"}}}, run, workflowtest.Says("so far"))
	facts.Budget = 125
	s := b.Run(facts)
	require.Contains(t, b.agentOutput().StoppedBy, "budget")
	require.InDelta(t, 110, s.Started.Cost.Amount, 0.001)
	require.InDelta(t, 120, s.Usage.Cost.Amount, 0.001)
}

// Tasks that one turn asks for do not spend the same rest of the budget: one comes after the other, and none when it is used up.
func TestAgent_budgetOfTasksOfATurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var calls []llmtest.ToolCall
	for _, text := range []string{"The harbour was rebuilt.", "The bridge was closed.", "The tower fell."} {
		calls = append(calls, runsTask("summary", fmt.Sprintf(`{"documents":[{"text":%q}]}`, text)))
	}
	facts := b.startSpender(t, 150, calls, func(llmtest.Call) llmtest.Reply { return workflowtest.Says("A summary.") })
	s := b.Run(facts)
	require.InDelta(t, 220, s.Started.Cost.Amount, 0.001, "the second found some of it left, the third nothing")
	require.Equal(t, "so far", b.agentOutput().Report)
	require.Contains(t, b.agentOutput().StoppedBy, "budget")
}

// startSpender starts an agent with a budget of 150 that starts tasks in its first turn, for 10. Each call of theirs costs 110. It reports when it hears
// that a budget is used up: its own, or the rest that a task had.
func (b *bench) startSpender(t *testing.T, usedUp int, calls []llmtest.ToolCall, answer func(llmtest.Call) llmtest.Reply) record.Facts {
	t.Helper()
	b.Price(1)
	facts := b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{{Builtin: "run_task"}}}, workflowtest.Says("never"))
	facts.Budget = 150
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		switch {
		case strings.Contains(c.Prompt, fmt.Sprintf("did not succeed: the budget of %d is used up", usedUp)):
			return workflowtest.Says("so far")
		case len(c.Tools) > 0:
			return llmtest.ToolCalls(llmtest.Usage{Input: 10}, calls...)
		}
		return answer(c)
	})
	return facts
}

// runsTask is a call that starts a task.
func runsTask(kind, input string) llmtest.ToolCall {
	return llmtest.ToolCall{Name: "run_task", Arguments: fmt.Sprintf(`{"kind":%q,"input":%s}`, kind, input)}
}

// A task that an agent starts asks the agent's model, unless its kind asks one of another sort. One whose cost cannot be counted is not started where
// there is a budget.
func TestAgent_modelsOfTasks(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]float64{"without a budget": 0, "with a budget": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			videos := b.UseVideos("ark", videotest.Options{})
			b.Price(1)
			facts := b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{{Builtin: "run_task"}}}, workflowtest.Says("never"))
			facts.Budget, facts.Model = budget, "scripted/other-model"
			if budget > 0 {
				facts.Model = "test-model" // which has a price
			}
			b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
				switch {
				case len(c.Results) > 0:
					return workflowtest.Says(strings.Join(c.Results, "; "))
				case len(c.Tools) > 0:
					return llmtest.ToolCalls(llmtest.Usage{Input: 10}, runsTask("embed", `{"rows":["a lamp"]}`), runsTask("video", `{"prompt":"a sea"}`), runsTask("generate", `{"rows":["a lamp"],"template":"Write."}`))
				case len(c.Inputs) > 0:
					return llmtest.Reply{}
				}
				return workflowtest.Says("Words.")
			})
			require.Equal(t, task.Succeeded, b.Run(facts).State)
			asked := map[string]bool{}
			for _, c := range b.Provider.Calls() {
				asked[c.Model] = true
			}
			for _, job := range videos.Jobs("a sea") {
				asked[job.Model] = true
			}
			if budget > 0 {
				require.Equal(t, map[string]bool{"test-model": true, "test-video": true}, asked)
				require.Contains(t, b.agentOutput().Report, `"embed" cannot be started from here: there is a budget`)
				return
			}
			require.Equal(t, map[string]bool{"other-model": true, "test-video": true, "test-embedding": true}, asked)
		})
	}
}

// What a task costs that failed, or that was cancelled with the agent, counts as well.
func TestAgent_costOfTasksThatFail(t *testing.T) {
	t.Parallel()
	calls := []llmtest.ToolCall{runsTask("summary", `{"documents":[{"text":"The harbour was rebuilt."},{"text":"The bridge was closed."}]}`)}
	tests := map[string]struct {
		bridge llmtest.Reply
		cancel bool
		cost   float64 // of the task that it starts
	}{
		"over its budget": {bridge: workflowtest.Says("A bridge."), cost: 220},
		"cancelled":       {bridge: llmtest.RateLimit(3600), cancel: true, cost: 110},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			facts := b.startSpender(t, 140, calls, func(c llmtest.Call) llmtest.Reply {
				if strings.Contains(c.Prompt, "The bridge") {
					return test.bridge
				}
				return workflowtest.Says("A harbour.")
			})
			if test.cancel {
				b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 10*time.Minute)
			}
			s := b.Run(facts)
			require.NotNil(t, s.Started.Cost)
			require.InDelta(t, test.cost, s.Started.Cost.Amount, 0.001)
			if !test.cancel {
				require.Equal(t, "so far", b.agentOutput().Report)
				require.Contains(t, b.agentOutput().StoppedBy, "budget")
			}
		})
	}
}

// A budget that cannot be kept, because the provider tells no usage, ends the work after a few calls.
func TestAgent_budgetThatCannotBeKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Price(1)
	facts := b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{look}}, workflowtest.Says("never"))
	facts.Budget = 1000
	n := 0
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.Prompt, "The work ends here: the budget of 1000 cannot be kept") {
			return llmtest.Stream(llmtest.Delta("so far", ""), llmtest.Delta("", "stop"), "[DONE]")
		}
		n++
		call := fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"look","arguments":"{\"q\":\"%d\"}"}}]}`, n)
		return llmtest.Stream(llmtest.Choice(call, ""), llmtest.Delta("", "tool_calls"), "[DONE]")
	})
	s := b.Run(facts)
	require.Equal(t, task.Succeeded, s.State, "%v", s.Error)
	require.Equal(t, "so far", b.agentOutput().Report)
	require.Contains(t, b.agentOutput().StoppedBy, "does not tell")
	require.Len(t, b.Tools.Made(), 5)
	require.EqualValues(t, 6, s.Usage.UnmeteredCalls)
}

// The budget ends the work early enough to say what there is.
func TestAgent_budget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Price(1)
	facts := b.startAgent(task.AgentInput{Goal: "x", Tools: []task.ToolSpec{look}}, workflowtest.Uses("look", "a"), workflowtest.Uses("look", "b"), workflowtest.Says("so far"))
	facts.Budget = 230 // a turn costs 110
	s := b.Run(facts)
	require.Equal(t, task.Succeeded, s.State, "%v", s.Error)
	require.Contains(t, b.agentOutput().StoppedBy, "budget")
	require.Len(t, b.Provider.Calls(), 3)
}
