package e2e

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

func recordApproval(s *stack) string {
	s.scriptTurns(callCalculator("6*7"), callWriteArtifact("t.csv"), finalAnswer("Forty-two."))
	id := s.submitAgent(task.AgentInput{Goal: "compute", Tools: []task.ToolSpec{{Builtin: "calculator"}, {Builtin: "write_artifact", Approval: task.Always}}})
	request := s.waitInput(id)
	_, err := s.client.Input(s.soon(), id, task.Reply{Request: request.ID, Action: task.Approve})
	require.NoError(s.t, err)
	return s.finish(id).ID
}

func recordChild(s *stack) string {
	s.provider.On("The harbour", finalAnswer("A harbour."))
	s.scriptTurns(llmtest.ToolCalls(llmtest.Usage{}, llmtest.ToolCall{Name: "run_task", Arguments: `{"kind":"summary","input":{"documents":[{"text":"The harbour was rebuilt."}]}}`}), finalAnswer("Done."))
	return s.finish(s.submitAgent(task.AgentInput{Goal: "summarise", Tools: []task.ToolSpec{{Builtin: "run_task"}}, Documents: []task.Document{{Text: "A note."}}})).ID
}

func recordCompacted(s *stack) string {
	s.calculateTurns(8)
	return s.finish(s.submitAgent(task.AgentInput{Goal: "compute " + strings.Repeat("all the sums ", 900), Tools: []task.ToolSpec{{Builtin: "calculator"}}})).ID
}

func recordLongAgent(s *stack) string {
	s.calculateTurns(12)
	return s.finish(s.submitAgent(task.AgentInput{Goal: "compute", Tools: []task.ToolSpec{{Builtin: "calculator"}}})).ID
}

func recordCancelledAgent(s *stack) string {
	s.scriptTurns(callWriteArtifact("t.csv"), finalAnswer("never"))
	id := s.submitAgent(task.AgentInput{Goal: "write", Tools: []task.ToolSpec{{Builtin: "write_artifact", Approval: task.Always}}})
	s.waitInput(id)
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(s.t, err)
	return s.finish(id).ID
}

// calculateTurns makes the model call the calculator for a number of turns and then answer. Requests to compact the
// conversation get a short summary.
func (s *stack) calculateTurns(turns int) {
	n := 0
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		usage := llmtest.Usage{Input: len(c.Prompt)/4 + 1, Output: 5}
		switch {
		case len(c.Tools) == 0:
			return llmtest.Answer("Sums were made.", usage)
		case n >= turns:
			return llmtest.Answer("All sums are made.", usage)
		}
		n++
		return llmtest.ToolCalls(usage, llmtest.ToolCall{Name: "calculator", Arguments: fmt.Sprintf(`{"expression":"%d+%d"}`, n, n)})
	})
}
