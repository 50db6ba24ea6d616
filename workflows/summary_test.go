package workflows_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
	"longhaul/workflows"
)

func TestSummary_everyDocumentOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.run(b.start(task.SummaryInput{Documents: texts(25)}))

	require.NoError(t, b.env.GetWorkflowError())
	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, task.Counts{Total: 25, Succeeded: 25}, s.Progress.Counts)
	require.Equal(t, 100, *s.Progress.Percent)
	require.Equal(t, 25, b.provider.Counts().Total)
	require.Empty(t, b.provider.Repeats())
	require.EqualValues(t, 25, s.Usage.Requests)
	for i, d := range b.output().Documents {
		calls := b.provider.CallsWith(marker(i))
		require.Len(t, calls, 1)
		require.Contains(t, d.Summary, calls[0].Hash, "document %d has another's summary", i)
	}
}

func TestSummary_partsThenOneSummary(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.run(b.start(task.SummaryInput{Documents: []task.Document{{Name: "Keeper", Text: long(30)}}, Words: 1000}))

	require.Equal(t, task.Succeeded, s.State)
	document := b.output().Documents[0]
	require.Equal(t, "Keeper", document.Name)
	require.Equal(t, 30, document.Parts)
	for i := range 30 {
		require.Len(t, b.provider.CallsWith(part(i)), 1, "part %d must be asked about once", i)
	}
	// A thousand words let four summaries into a call: 30 → 8 → 2 → 1.
	require.Equal(t, 30+8+2+1, b.provider.Counts().Total)
	require.Equal(t, b.provider.Counts().Total, b.items()[0].Attempts)
}

func TestSummary_digestOverAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.run(b.start(task.SummaryInput{Documents: texts(30), Digest: true}))

	require.Equal(t, task.Succeeded, s.State)
	// 300 words let 13 summaries into a call: 30 documents make 3 digests, and those the last one.
	require.Equal(t, 30+3+1, b.provider.Counts().Total)
	require.NotEmpty(t, b.output().Digest)
	require.EqualValues(t, 34, s.Usage.Requests)
}

func TestSummary_failures(t *testing.T) {
	t.Parallel()
	const refused = `{"error":{"message":"flagged","type":"invalid_request_error","code":"content_filter"}}`
	down := llmtest.Fail(http.StatusServiceUnavailable, "no upstream")
	broken := llmtest.Fail(http.StatusInternalServerError, `{"error":{"message":"oops"}}`)
	tests := map[string]struct {
		replies []llmtest.Reply // to the document in the middle of three
		calls   int
		status  task.ItemStatus
		code    task.Code
	}{
		"a passing fault is tried again":         {[]llmtest.Reply{broken, {}}, 2, task.ItemSucceeded, ""},
		"a lasting fault ends after three calls": {[]llmtest.Reply{broken}, 3, task.ItemFailed, task.ModelUnavailable},
		"a rate limit does not use up attempts": {
			[]llmtest.Reply{llmtest.RateLimit(2), llmtest.RateLimit(2), llmtest.RateLimit(2), llmtest.RateLimit(2), {}}, 5, task.ItemSucceeded, "",
		},
		"nor does a provider that is down": {
			[]llmtest.Reply{down, down, down, down, down, {}}, 6, task.ItemSucceeded, "",
		},
		"refused content is asked about once": {[]llmtest.Reply{llmtest.Fail(http.StatusBadRequest, refused)}, 1, task.ItemFailed, task.ContentFiltered},
		"an answer that is none is tried again": {
			[]llmtest.Reply{llmtest.Raw("application/json", `{"choices":[]}`), {}}, 2, task.ItemSucceeded, "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.provider.On(marker(1), test.replies...)
			s := b.run(b.start(task.SummaryInput{Documents: texts(3)}))

			require.NoError(t, b.env.GetWorkflowError(), "an item's failure is not the task's")
			item := b.items()[1]
			require.Equal(t, test.status, item.Status)
			require.Len(t, b.provider.CallsWith(marker(1)), test.calls)
			require.Equal(t, test.calls, item.Attempts, "attempts told are calls made")
			if test.code != "" {
				require.Equal(t, test.code, item.Error.Code)
				require.Equal(t, test.calls, item.Error.Attempts)
				require.Equal(t, task.Partial, s.Outcome)
			} else {
				require.Equal(t, task.Full, s.Outcome)
			}
			for _, i := range []int{0, 2} {
				require.Len(t, b.provider.CallsWith(marker(i)), 1, "the others go on")
			}
		})
	}
}

func TestSummary_waitsAsLongAsTheProviderAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On(marker(0), llmtest.RateLimit(3600), llmtest.Reply{})
	start := b.env.Now()
	b.run(b.start(task.SummaryInput{Documents: texts(1)}))
	require.NoError(t, b.env.GetWorkflowError())
	require.GreaterOrEqual(t, b.env.Now().Sub(start), time.Hour)
	require.Equal(t, 2, b.provider.Counts().Total)
}

func TestSummary_badDocumentsCostNoCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	files := b.do.Files
	broken, err := files.Save(t.Context(), "acme", "broken.docx", "", strings.NewReader("PK\x03\x04 and nothing more"), 1<<20)
	require.NoError(t, err)
	s := b.run(b.start(task.SummaryInput{Documents: []task.Document{
		{Text: " \n\t"}, {FileID: broken.ID}, {Text: "A sound bridge. " + marker(2)}, {URL: "http://127.0.0.1:9/secret?token=abc"}, {FileID: "file_0000000000000000000000000000000000000000"},
	}}))

	require.Equal(t, task.Partial, s.Outcome)
	items := b.items()
	require.Equal(t, 1, b.provider.Counts().Total)
	require.Equal(t, task.DocumentEmpty, items[0].Error.Code)
	require.Equal(t, task.DocumentBroken, items[1].Error.Code)
	require.Equal(t, "broken.docx", items[1].Name)
	require.Equal(t, task.ItemSucceeded, items[2].Status)
	require.Equal(t, task.FetchBlocked, items[3].Error.Code)
	require.NotContains(t, items[3].Name+items[3].Error.Detail, "abc")
	require.Equal(t, task.NotFound, items[4].Error.Code)
}

func TestSummary_allFailedIsFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On("Report", llmtest.Fail(http.StatusUnauthorized, `{"error":{"message":"bad key","code":"invalid_api_key"}}`))
	s := b.run(b.start(task.SummaryInput{Documents: texts(2)}))

	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.None, s.Outcome)
	require.Equal(t, task.AllItemsFailed, s.Error.Code)
	require.Contains(t, s.Error.Detail, "bad key")
	require.Nil(t, s.Result)
	var failure *temporal.ApplicationError
	require.True(t, errors.As(b.env.GetWorkflowError(), &failure))
	require.Equal(t, string(task.AllItemsFailed), failure.Type())
	require.True(t, failure.NonRetryable())
}

func TestSummary_partThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On(part(3), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`))
	s := b.run(b.start(task.SummaryInput{Documents: []task.Document{{Text: long(8)}}}))

	require.Equal(t, task.Succeeded, s.State)
	require.Len(t, b.provider.CallsWith(part(3)), 1)
	require.Len(t, b.output().Documents[0].Missing, 1)
	require.Contains(t, b.output().Documents[0].Missing[0], "part 4 of 8")
}

// Of a document of two parts one is refused: the other is its summary, and costs no further call.
func TestSummary_theOnePartThatIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On(part(1), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`))
	s := b.run(b.start(task.SummaryInput{Documents: []task.Document{{Text: long(2)}}}))

	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, 2, b.provider.Counts().Total)
	require.Equal(t, task.ItemSucceeded, b.items()[0].Status)
	require.Equal(t, 2, b.items()[0].Attempts)
	document := b.output().Documents[0]
	require.Contains(t, document.Summary, b.provider.CallsWith(part(0))[0].Hash)
	require.Len(t, document.Missing, 1)
}

// The provider takes 150 tokens of text and no more, where parts were cut to 200.
func TestSummary_textTooLongForTheModelIsHalved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if len(call.Prompt) > 1400 {
			return llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
		}
		return llmtest.Reply{}
	})
	s := b.run(b.start(task.SummaryInput{Documents: []task.Document{{Text: long(3)}, {Text: long(1)}}}))
	require.Equal(t, task.Full, s.Outcome)
	require.Empty(t, b.output().Documents[0].Missing)
	for i := range 3 {
		answered := 0
		for _, call := range b.provider.CallsWith(part(i)) {
			if call.Status == http.StatusOK {
				answered++
			}
		}
		require.NotZero(t, answered, "part %d is not covered", i)
	}
}

func TestSummary_cancelKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On(marker(1), llmtest.RateLimit(600), llmtest.Reply{})
	b.env.RegisterDelayedCallback(b.env.CancelWorkflow, 5*time.Minute)
	s := b.run(b.start(task.SummaryInput{Documents: texts(3)}))

	require.Equal(t, task.Cancelled, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, task.TaskCancelled, s.Error.Code)
	var cancelled *temporal.CanceledError
	require.True(t, errors.As(b.env.GetWorkflowError(), &cancelled))
	items := b.items()
	require.Equal(t, task.ItemSucceeded, items[0].Status)
	require.Equal(t, task.ItemCancelled, items[1].Status)
	require.Equal(t, 3, b.provider.Counts().Total, "the call that waited is not made again")
	require.Equal(t, task.Counts{Total: 3, Succeeded: 2, Cancelled: 1}, s.Progress.Counts)
	require.NotEmpty(t, b.output().Documents[0].Summary)
}

func TestSummary_deadlineKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On(marker(1), llmtest.RateLimit(600), llmtest.Reply{})
	facts := b.start(task.SummaryInput{Documents: texts(3)})
	facts.Deadline = new(b.env.Now().Add(time.Minute))
	s := b.run(facts)

	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, task.DeadlineExceeded, s.Error.Code)
	require.Equal(t, task.DeadlineExceeded, b.items()[1].Error.Code)
	require.NotEmpty(t, b.output().Documents[0].Summary)
}

// A second task of the same lineage finds every answer in the ledger and pays for nothing.
func TestSummary_paidOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On(marker(1), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no"}}`), llmtest.Reply{})
	first := b.run(b.start(task.SummaryInput{Documents: texts(4)}))
	require.Equal(t, 3, first.Progress.Counts.Succeeded)
	require.Equal(t, 4, b.provider.Counts().Total)

	b.id = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.renew()
	second := b.run(b.start(task.SummaryInput{Documents: texts(4)}))
	require.Equal(t, 4, second.Progress.Counts.Succeeded)
	require.Equal(t, 5, b.provider.Counts().Total, "only the one that failed is asked again")
	require.EqualValues(t, 1, second.Usage.Requests)
	require.True(t, b.items()[0].Cached)
}

// A run whose history has grown long goes on in a new one, with what is done and without a gap in
// the revisions.
func TestSummary_goesOnInANewRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.start(task.SummaryInput{Documents: texts(5)})
	b.env.SetContinueAsNewSuggested(true)
	before := b.run(facts)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, b.env.GetWorkflowError(), &next)
	require.Equal(t, "summary", next.WorkflowType.Name)
	require.Zero(t, b.provider.Counts().Total)

	var start workflows.Start
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
	b.renew()
	b.env.ExecuteWorkflow("summary", start)
	require.NoError(t, b.env.GetWorkflowError())
	after := b.state()
	require.Equal(t, 5, after.Progress.Counts.Succeeded)
	require.Greater(t, after.Revision, before.Revision)
	require.Equal(t, before.StartedAt, after.StartedAt)
	require.Equal(t, 5, b.provider.Counts().Total)
}

// A document that is cut off in the middle keeps its name, and what it used is told: on the item, on
// the task, and the same on both.
func TestSummary_cutOffDocumentsAreAccountedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On(part(5), llmtest.RateLimit(600), llmtest.Reply{})
	b.env.RegisterDelayedCallback(b.env.CancelWorkflow, 5*time.Minute)
	s := b.run(b.start(task.SummaryInput{Documents: []task.Document{{Name: "long", Text: long(8)}, {Text: "Short."}}}))

	require.Equal(t, task.Cancelled, s.State)
	require.Equal(t, 9, b.provider.Counts().Total)
	require.EqualValues(t, 8, s.Usage.Requests, "the answers that were paid for")
	var sum task.Usage
	for _, item := range b.items() {
		sum = sum.Add(item.Usage)
	}
	require.Equal(t, s.Usage, sum)
	require.Equal(t, "long", b.items()[0].Name)
	require.Equal(t, task.ItemCancelled, b.items()[0].Status)
}

// A budget is overshot by no more than the calls of a small window, and one that cannot be kept is told.
func TestSummary_budget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.price(t, 1)
	b.provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Answer("A summary.", llmtest.Usage{Input: 9, Output: 1})
	})
	facts := b.start(task.SummaryInput{Documents: texts(150)})
	facts.Budget = 100 // ten calls
	s := b.run(facts)
	require.Equal(t, task.BudgetExceeded, s.Error.Code)
	require.Equal(t, task.Partial, s.Outcome)
	require.LessOrEqual(t, b.provider.Counts().Total, 10+8)
	require.Contains(t, s.Error.Detail, fmt.Sprintf("it cost %g USD", s.Usage.Cost.Amount))

	b.id = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.renew()
	b.provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Stream(llmtest.Delta("Something.", ""), llmtest.Delta("", "stop"), "[DONE]")
	})
	in := task.SummaryInput{}
	for i := range 150 {
		in.Documents = append(in.Documents, task.Document{Text: fmt.Sprintf("Another report, number %d.", i)})
	}
	facts = b.start(in)
	facts.Budget = 100
	s = b.run(facts)
	require.Equal(t, task.BudgetExceeded, s.Error.Code, "%v", s.Error)
	require.Contains(t, s.Error.Detail, "does not tell")
}

// A group that goes on in a new run has what is left of its budget there, and not the whole of it again.
func TestSummaryGroup_budgetOfTheNextRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.price(t, 1)
	b.provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Answer("A summary.", llmtest.Usage{Input: 9, Output: 1})
	})
	facts := b.start(task.SummaryInput{Documents: texts(60)}) // ten units of money each
	b.env.SetContinueAsNewSuggested(true)
	b.run(facts)
	plan := goesOn[workflows.Start](b).Summary.Plan // nothing was done but that

	b.renew()
	b.env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == "SummarisePart" {
			b.env.SetContinueAsNewSuggested(true)
		}
	})
	b.env.ExecuteWorkflow("summary.group", workflows.GroupStart{
		Task: activities.Task{ID: facts.ID, Tenant: facts.Tenant, Lineage: facts.Lineage}, Group: plan.Groups[0], FanIn: plan.FanIn, Budget: 500,
	})
	next := goesOn[workflows.GroupStart](b)
	require.Positive(t, b.provider.Counts().Total)
	require.InDelta(t, 500-10*b.provider.Counts().Total, next.Budget, 1e-6)
}

// goesOn is what the next run of a workflow is started with.
func goesOn[T any](b *bench) (start T) {
	var next *workflow.ContinueAsNewError
	require.ErrorAs(b.t, b.env.GetWorkflowError(), &next)
	require.NoError(b.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
	return start
}

// A new run that begins by a clock that was put back does not let readers see the task change before it changed last.
func TestRun_clockGoesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.start(task.SummaryInput{Documents: texts(2)})
	before := workflows.Snapshot{Revision: 7, State: task.Processing, StartedAt: b.env.Now(), UpdatedAt: b.env.Now().Add(time.Hour)}
	b.env.ExecuteWorkflow(facts.Kind, workflows.Start{Facts: facts, Snapshot: &before})
	require.True(t, b.env.IsWorkflowCompleted())
	after := b.state()
	require.Equal(t, task.Succeeded, after.State)
	require.Greater(t, after.Revision, before.Revision)
	require.True(t, after.UpdatedAt.Equal(before.UpdatedAt), after.UpdatedAt)
}

// By a Temporal whose clock is behind that of the API a task does not change before it was made.
func TestRun_clocksThatDiffer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.start(task.SummaryInput{Documents: texts(2)})
	facts.CreatedAt = facts.CreatedAt.Add(time.Hour)
	require.False(t, b.run(facts).UpdatedAt.Before(facts.CreatedAt))
}
