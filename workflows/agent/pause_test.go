package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
	"longhaul/workflows/agent"
)

// A run that goes on in a new one takes along what was said in the very moment: the SDK has handed it to a coroutine that has not had its turn yet.
func TestGoOn_hearsWhatCameLast(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		begin func(b *bench) record.Facts
		last  string // the activity during which it is said
	}{
		"agent": {func(b *bench) record.Facts {
			return b.startAgent(task.AgentInput{Goal: "find out", Tools: []task.ToolSpec{look}}, workflowtest.Uses("look", "a"), workflowtest.Says("done"))
		}, "PrepareAgent"},
		"generate": {func(b *bench) record.Facts {
			return b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(3)}, Template: "Write about {{name}}"})
		}, "PlanRows"},
		"summary": {func(b *bench) record.Facts {
			return b.Summary(task.SummaryInput{Documents: workflowtest.Texts(3)})
		}, "PlanSummary"},
	}
	for kind, test := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			facts := test.begin(b)
			key := storage.ReplyKey(b.ID, "message-1")
			b.Env.SetContinueAsNewSuggested(true)
			b.Env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name == test.last {
					b.Env.SignalWorkflowSkippingWorkflowTask(record.SignalInput, record.Message{Message: key})
					b.Env.SignalWorkflowSkippingWorkflowTask(record.SignalPause, record.Pause{On: true, Reason: "look first"})
				}
			})
			s := b.Run(facts)
			require.Equal(t, task.Paused, s.State)
			var next *workflow.ContinueAsNewError
			require.ErrorAs(t, b.Env.GetWorkflowError(), &next)
			var start record.Start[agent.Carry]
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
			require.Equal(t, task.Paused, start.Snapshot.State)
			require.Equal(t, "look first", start.Snapshot.Held.Reason)
			if kind == "agent" {
				require.Equal(t, []string{key}, start.Carry.Messages)
			}
			require.Zero(t, b.Provider.Counts().Total)
		})
	}
}

// A paused task of any kind that is cancelled ends, and the calls that it held were never made.
func TestPause_cancel(t *testing.T) {
	t.Parallel()
	tests := map[string]func(b *bench) record.Facts{
		"agent": func(b *bench) record.Facts {
			return b.startAgent(task.AgentInput{Goal: "find out", Tools: []task.ToolSpec{look}}, workflowtest.Says("done"))
		},
		"generate": func(b *bench) record.Facts {
			return b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(3)}, Template: "Write about {{name}}"})
		},
		"summary": func(b *bench) record.Facts {
			return b.Summary(task.SummaryInput{Documents: workflowtest.Texts(3)})
		},
		"qa": func(b *bench) record.Facts {
			return b.WriteInput("qa", &task.QAInput{Documents: workflowtest.Texts(3), Questions: []string{"What?", "Why?"}})
		},
		"video": func(b *bench) record.Facts {
			return b.WriteInput("video", &task.VideoInput{Prompts: []string{"a cat"}})
		},
	}
	for kind, begin := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			facts := begin(b)
			b.Mock("PauseCalls").Return(nil) // the test environment cannot pause activities
			b.Env.RegisterDelayedCallback(func() { b.Env.SignalWorkflow(record.SignalPause, record.Pause{On: true}) }, 0)
			b.Env.RegisterDelayedCallback(func() { require.Equal(t, task.Paused, b.State().State) }, time.Minute)
			b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 2*time.Minute)
			s := b.Run(facts)
			require.Equal(t, task.Cancelled, s.State, "%v", b.Env.GetWorkflowError())
			require.Zero(t, b.Provider.Counts().Total)
			require.Zero(t, s.Usage.Requests)
		})
	}
}

// What a person says to a paused agent is kept for when it goes on, and nothing is done before that.
func TestPause_duringApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.startAgent(task.AgentInput{Goal: "book", Tools: []task.ToolSpec{book}}, workflowtest.Uses("book", "room"), workflowtest.Says("done"))
	b.Mock("PauseCalls").Return(nil)
	at := func(minute int, do func()) { b.Env.RegisterDelayedCallback(do, time.Duration(minute)*time.Minute) }
	at(1, func() {
		require.Equal(t, task.InputRequired, b.State().State)
		b.Env.SignalWorkflow(record.SignalPause, record.Pause{On: true})
		b.Env.SignalWorkflow(record.SignalPause, record.Pause{On: true, Reason: "twice"})
	})
	at(2, func() { b.reply(task.Reply{Request: "call-1-1", Action: task.Approve}) })
	at(3, func() {
		require.Equal(t, task.Paused, b.State().State)
		require.Empty(t, b.Tools.Made(), "an approved call waits, too")
		b.Env.SignalWorkflow(record.SignalPause, record.Pause{})
	})
	s := b.Run(facts)
	require.Equal(t, task.Succeeded, s.State, "%v", b.Env.GetWorkflowError())
	require.Len(t, b.Tools.Made(), 1)
	require.Nil(t, s.Held)
}
