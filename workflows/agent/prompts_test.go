package agent_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Tools.Extra = 3000
	n := 0
	answer := func(c llmtest.Call) llmtest.Reply {
		usage := llmtest.Usage{Input: len(c.Prompt) / 4, Output: 10}
		if n++; len(c.Tools) == 0 || n > 8 {
			return llmtest.Answer(`{"found":"all"}`, usage)
		}
		return llmtest.ToolCalls(usage, llmtest.ToolCall{Name: "look", Arguments: fmt.Sprintf(`{"q":"page %d"}`, n)})
	}
	b.RequirePrompts(map[string]workflowtest.Prompt{
		"turn":         {Holds: "You work towards the goal", Version: 1},
		"after-memory": {Holds: "A record of what happened so far stands in place of the turns before", Version: 1},
		"memory":       {Holds: "the record of an agent's work towards a goal", Version: 1},
		"result":       {Holds: "Give the result as JSON now.", Version: 1},
	}, answer, func() {
		run := func(id string, in task.AgentInput) {
			b.ID, n = id, 0
			b.Renew()
			require.Equal(t, task.Succeeded, b.Run(b.WriteInput("agent", &in)).State)
		}
		schema := map[string]any{"type": "object", "properties": map[string]any{"found": map[string]any{"type": "string"}}}
		run("task_baaaaaaaaaaaaaaaaaaaaaaaaa", task.AgentInput{Goal: "read it all", OutputSchema: schema})
		run("task_caaaaaaaaaaaaaaaaaaaaaaaaa", task.AgentInput{Goal: "read it all", Tools: []task.ToolSpec{look}})
	})
}
