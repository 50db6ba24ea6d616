package summary_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := task.SummaryInput{Digest: true, Language: "de", Instructions: "Name the years.", Words: 1500}
	in.Documents = append(workflowtest.Texts(3), task.Document{Text: workflowtest.Long(2)})
	b.RequirePrompts(map[string]workflowtest.Prompt{
		"summarise-document": {Holds: "Summarise the document", Version: 1},
		"summarise-part":     {Holds: "Summarise part 1 of 2 of the document", Version: 1},
		"summarise-part-2":   {Holds: "Summarise part 2 of 2 of the document", Version: 1},
		"combine-parts":      {Holds: "summaries of consecutive parts", Version: 1},
		"digest":             {Holds: "summaries of documents", Version: 1},
		"digest-of-digests":  {Holds: "summaries of groups of documents", Version: 1},
	}, func(llmtest.Call) llmtest.Reply { return workflowtest.Says("In short.") }, func() {
		require.Equal(t, task.Succeeded, b.Run(b.Summary(in)).State)
	})
}
