package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// A run that goes on in a new one takes along what was said in the very moment: the SDK has handed it to a coroutine that has not had its turn yet.
func TestGoOn_hearsWhatCameLast(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		begin func(b *bench) workflows.Facts
		last  string // the activity during which it is said
	}{
		"agent": {func(b *bench) workflows.Facts {
			return b.startAgent(task.AgentInput{Goal: "find out", Tools: []task.ToolSpec{look}}, uses("look", "a"), says("done"))
		}, "PrepareAgent"},
		"generate": {func(b *bench) workflows.Facts {
			return b.lay("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: products(3)}, Template: "Write about {{name}}"})
		}, "PlanRows"},
		"summary": {func(b *bench) workflows.Facts { return b.start(task.SummaryInput{Documents: texts(3)}) }, "PlanSummary"},
	}
	for kind, test := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			facts := test.begin(b)
			key := storage.ReplyKey(b.id, "message-1")
			b.env.SetContinueAsNewSuggested(true)
			b.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name == test.last {
					b.env.SignalWorkflowSkippingWorkflowTask(workflows.SignalInput, workflows.Said{Message: key})
					b.env.SignalWorkflowSkippingWorkflowTask(workflows.SignalPause, workflows.Pause{On: true, Reason: "look first"})
				}
			})
			s := b.run(facts)
			require.Equal(t, task.Paused, s.State)
			var next *workflow.ContinueAsNewError
			require.ErrorAs(t, b.env.GetWorkflowError(), &next)
			var start workflows.Start
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
			require.Equal(t, task.Paused, start.Snapshot.State)
			require.Equal(t, "look first", start.Snapshot.Held.Reason)
			if kind == "agent" {
				require.Equal(t, []string{key}, start.Agent.Messages)
			}
			require.Zero(t, b.provider.Counts().Total)
		})
	}
}

// A paused task of any kind that is cancelled ends, and the calls that it held were never made.
func TestPause_cancel(t *testing.T) {
	t.Parallel()
	tests := map[string]func(b *bench) workflows.Facts{
		"agent": func(b *bench) workflows.Facts {
			return b.startAgent(task.AgentInput{Goal: "find out", Tools: []task.ToolSpec{look}}, says("done"))
		},
		"generate": func(b *bench) workflows.Facts {
			return b.lay("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: products(3)}, Template: "Write about {{name}}"})
		},
		"summary": func(b *bench) workflows.Facts { return b.start(task.SummaryInput{Documents: texts(3)}) },
		"qa": func(b *bench) workflows.Facts {
			return b.lay("qa", &task.QAInput{Documents: texts(3), Questions: []string{"What?", "Why?"}})
		},
		"video": func(b *bench) workflows.Facts { return b.lay("video", &task.VideoInput{Prompts: []string{"a cat"}}) },
	}
	for kind, begin := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			facts := begin(b)
			b.env.OnActivity("HoldCalls", mock.Anything, mock.Anything).Return(nil) // the test environment cannot pause activities
			b.env.RegisterDelayedCallback(func() { b.env.SignalWorkflow(workflows.SignalPause, workflows.Pause{On: true}) }, 0)
			b.env.RegisterDelayedCallback(func() { require.Equal(t, task.Paused, b.state().State) }, time.Minute)
			b.env.RegisterDelayedCallback(b.env.CancelWorkflow, 2*time.Minute)
			s := b.run(facts)
			require.Equal(t, task.Cancelled, s.State, "%v", b.env.GetWorkflowError())
			require.Zero(t, b.provider.Counts().Total)
			require.Zero(t, s.Usage.Requests)
		})
	}
}

// What a person says to a paused agent is kept for when it goes on, and nothing is done before that.
func TestPause_duringApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.startAgent(task.AgentInput{Goal: "book", Tools: []task.ToolSpec{book}}, uses("book", "room"), says("done"))
	b.env.OnActivity("HoldCalls", mock.Anything, mock.Anything).Return(nil)
	at := func(minute int, do func()) { b.env.RegisterDelayedCallback(do, time.Duration(minute)*time.Minute) }
	at(1, func() {
		require.Equal(t, task.InputRequired, b.state().State)
		b.env.SignalWorkflow(workflows.SignalPause, workflows.Pause{On: true})
		b.env.SignalWorkflow(workflows.SignalPause, workflows.Pause{On: true, Reason: "twice"})
	})
	at(2, func() { b.reply(task.Reply{Request: "call-1-1", Action: task.Approve}) })
	at(3, func() {
		require.Equal(t, task.Paused, b.state().State)
		require.Empty(t, b.tools.made(), "an approved call waits, too")
		b.env.SignalWorkflow(workflows.SignalPause, workflows.Pause{})
	})
	s := b.run(facts)
	require.Equal(t, task.Succeeded, s.State, "%v", b.env.GetWorkflowError())
	require.Len(t, b.tools.made(), 1)
	require.Nil(t, s.Held)
}
