package rows_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rows := task.RowSource{Rows: []json.RawMessage{json.RawMessage(`"My parcel never came."`), json.RawMessage(`"I cannot sign in."`)}}
	answer := func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.Prompt, "confidence") {
			return workflowtest.Says(`{"results":[{"number":1,"labels":["delivery"],"confidence":1},{"number":2,"labels":["account"],"confidence":1}]}`)
		}
		return workflowtest.Says("A sentence.")
	}
	b.RequirePrompts(map[string]workflowtest.Prompt{
		"generate":       {Holds: "Write about", Version: 1},
		"classify":       {Holds: "the one label that fits best", Version: 1},
		"classify-multi": {Holds: "all labels that fit", Version: 1},
	}, answer, func() {
		run := func(id, kind string, in interface {
			Normalize()
			FileIDs() map[string]string
			Headline() string
		},
		) {
			b.ID = id
			b.Renew()
			require.Equal(t, task.Succeeded, b.Run(b.WriteInput(kind, in)).State)
		}
		labels := []task.Label{{Name: "delivery", Description: "a parcel is late, lost or broken"}, {Name: "account"}}
		run("task_baaaaaaaaaaaaaaaaaaaaaaaaa", "generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(1)}, Template: "Write about {{name}}", System: "Be brief."})
		run("task_caaaaaaaaaaaaaaaaaaaaaaaaa", "classify", &task.ClassifyInput{RowSource: rows, Labels: labels})
		run("task_daaaaaaaaaaaaaaaaaaaaaaaaa", "classify", &task.ClassifyInput{RowSource: rows, Labels: labels, Multi: true, Instructions: "Be strict."})
	})
}
