package qa_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	b := newQABench(t)
	doc := lighthouse(100)
	b.RequirePrompts(map[string]workflowtest.Prompt{
		"answer":           {Holds: "Answer the question from the sources", Version: 1},
		"answer-passages":  {Holds: "needs_everything: the sources are only the passages", Version: 1},
		"search-part":      {Holds: "which are one part of a long text", Version: 1},
		"combine-findings": {Holds: "The user gives you findings", Version: 1},
	}, answerAbout, func() {
		ask := func(id string, in task.QAInput) {
			b.ID = id
			b.Renew()
			require.Equal(t, task.Succeeded, b.ask(in).State)
		}
		ask("task_baaaaaaaaaaaaaaaaaaaaaaaaa", task.QAInput{Documents: []task.Document{{Text: "All about lamps."}}, Questions: []string{"about lamps?"}, Language: "de"})
		ask("task_caaaaaaaaaaaaaaaaaaaaaaaaa", task.QAInput{Documents: []task.Document{doc}, Questions: []string{"about topic-030?"}, Instructions: "Name the line."})
		ask("task_daaaaaaaaaaaaaaaaaaaaaaaaa", task.QAInput{Documents: []task.Document{doc}, Mode: task.FullText, Questions: []string{"about The log?"}})
	})
}
