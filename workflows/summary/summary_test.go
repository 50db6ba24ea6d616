package summary_test

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

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
	"longhaul/workflows/summary"
)

func TestSummary_everyDocumentOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(25)}))

	require.NoError(t, b.Env.GetWorkflowError())
	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, task.Counts{Total: 25, Succeeded: 25}, s.Progress.Counts)
	require.Equal(t, 100, *s.Progress.Percent)
	require.Equal(t, 25, b.Provider.Counts().Total)
	require.Empty(t, b.Provider.Repeats())
	require.EqualValues(t, 25, s.Usage.Requests)
	for i, d := range b.output().Documents {
		calls := b.Provider.CallsWith(workflowtest.Marker(i))
		require.Len(t, calls, 1)
		require.Contains(t, d.Summary, calls[0].Hash, "document %d has another's summary", i)
	}
}

func TestSummary_partsThenOneSummary(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Run(b.Summary(task.SummaryInput{Documents: []task.Document{{Name: "Keeper", Text: workflowtest.Long(30)}}, Words: 1000}))

	require.Equal(t, task.Succeeded, s.State)
	document := b.output().Documents[0]
	require.Equal(t, "Keeper", document.Name)
	require.Equal(t, 30, document.Parts)
	for i := range 30 {
		require.Len(t, b.Provider.CallsWith(workflowtest.Part(i)), 1, "part %d must be asked about once", i)
	}
	// A thousand words let four summaries into a call: 30 → 8 → 2 → 1.
	require.Equal(t, 30+8+2+1, b.Provider.Counts().Total)
	require.Equal(t, b.Provider.Counts().Total, b.Items()[0].Attempts)
}

func TestSummary_digestOverAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(30), Digest: true}))

	require.Equal(t, task.Succeeded, s.State)
	// 300 words let 13 summaries into a call: 30 documents make 3 digests, and those the last one.
	require.Equal(t, 30+3+1, b.Provider.Counts().Total)
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
			b.Provider.On(workflowtest.Marker(1), test.replies...)
			s := b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(3)}))

			require.NoError(t, b.Env.GetWorkflowError(), "an item's failure is not the task's")
			item := b.Items()[1]
			require.Equal(t, test.status, item.Status)
			require.Len(t, b.Provider.CallsWith(workflowtest.Marker(1)), test.calls)
			require.Equal(t, test.calls, item.Attempts, "attempts told are calls made")
			if test.code != "" {
				require.Equal(t, test.code, item.Error.Code)
				require.Equal(t, test.calls, item.Error.Attempts)
				require.Equal(t, task.Partial, s.Outcome)
			} else {
				require.Equal(t, task.Full, s.Outcome)
			}
			for _, i := range []int{0, 2} {
				require.Len(t, b.Provider.CallsWith(workflowtest.Marker(i)), 1, "the others go on")
			}
		})
	}
}

func TestSummary_waitsAsLongAsTheProviderAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On(workflowtest.Marker(0), llmtest.RateLimit(3600), llmtest.Reply{})
	start := b.Env.Now()
	b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(1)}))
	require.NoError(t, b.Env.GetWorkflowError())
	require.GreaterOrEqual(t, b.Env.Now().Sub(start), time.Hour)
	require.Equal(t, 2, b.Provider.Counts().Total)
}

func TestSummary_badDocumentsCostNoCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	files := b.Parts.Files
	broken, err := files.Save(t.Context(), "acme", "broken.docx", "", strings.NewReader("PK\x03\x04 and nothing more"), 1<<20)
	require.NoError(t, err)
	s := b.Run(b.Summary(task.SummaryInput{Documents: []task.Document{
		{Text: " \n\t"}, {FileID: broken.ID}, {Text: "A sound bridge. " + workflowtest.Marker(2)}, {URL: "http://127.0.0.1:9/secret?token=abc"}, {FileID: "file_0000000000000000000000000000000000000000"},
	}}))

	require.Equal(t, task.Partial, s.Outcome)
	items := b.Items()
	require.Equal(t, 1, b.Provider.Counts().Total)
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
	b.Provider.On("Report", llmtest.Fail(http.StatusUnauthorized, `{"error":{"message":"bad key","code":"invalid_api_key"}}`))
	s := b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(2)}))

	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.None, s.Outcome)
	require.Equal(t, task.AllItemsFailed, s.Error.Code)
	require.Contains(t, s.Error.Detail, "bad key")
	require.Nil(t, s.Result)
	var failure *temporal.ApplicationError
	require.True(t, errors.As(b.Env.GetWorkflowError(), &failure))
	require.Equal(t, string(task.AllItemsFailed), failure.Type())
	require.True(t, failure.NonRetryable())
}

func TestSummary_partThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On(workflowtest.Part(3), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`))
	s := b.Run(b.Summary(task.SummaryInput{Documents: []task.Document{{Text: workflowtest.Long(8)}}}))

	require.Equal(t, task.Succeeded, s.State)
	require.Len(t, b.Provider.CallsWith(workflowtest.Part(3)), 1)
	require.Len(t, b.output().Documents[0].Missing, 1)
	require.Contains(t, b.output().Documents[0].Missing[0], "part 4 of 8")
}

// Of a document of two parts one is refused: the other is its summary, and costs no further call.
func TestSummary_theOnePartThatIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On(workflowtest.Part(1), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`))
	s := b.Run(b.Summary(task.SummaryInput{Documents: []task.Document{{Text: workflowtest.Long(2)}}}))

	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, 2, b.Provider.Counts().Total)
	require.Equal(t, task.ItemSucceeded, b.Items()[0].Status)
	require.Equal(t, 2, b.Items()[0].Attempts)
	document := b.output().Documents[0]
	require.Contains(t, document.Summary, b.Provider.CallsWith(workflowtest.Part(0))[0].Hash)
	require.Len(t, document.Missing, 1)
}

// The provider takes 150 tokens of text and no more, where parts were cut to 200.
func TestSummary_textTooLongForTheModelIsHalved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if len(call.Prompt) > 1400 {
			return llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
		}
		return llmtest.Reply{}
	})
	s := b.Run(b.Summary(task.SummaryInput{Documents: []task.Document{{Text: workflowtest.Long(3)}, {Text: workflowtest.Long(1)}}}))
	require.Equal(t, task.Full, s.Outcome)
	require.Empty(t, b.output().Documents[0].Missing)
	for i := range 3 {
		answered := 0
		for _, call := range b.Provider.CallsWith(workflowtest.Part(i)) {
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
	b.Provider.On(workflowtest.Marker(1), llmtest.RateLimit(600), llmtest.Reply{})
	b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 5*time.Minute)
	s := b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(3)}))

	require.Equal(t, task.Cancelled, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, task.TaskCancelled, s.Error.Code)
	var cancelled *temporal.CanceledError
	require.True(t, errors.As(b.Env.GetWorkflowError(), &cancelled))
	items := b.Items()
	require.Equal(t, task.ItemSucceeded, items[0].Status)
	require.Equal(t, task.ItemCancelled, items[1].Status)
	require.Equal(t, 3, b.Provider.Counts().Total, "the call that waited is not made again")
	require.Equal(t, task.Counts{Total: 3, Succeeded: 2, Cancelled: 1}, s.Progress.Counts)
	require.NotEmpty(t, b.output().Documents[0].Summary)
}

func TestSummary_deadlineKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On(workflowtest.Marker(1), llmtest.RateLimit(600), llmtest.Reply{})
	facts := b.Summary(task.SummaryInput{Documents: workflowtest.Texts(3)})
	facts.Deadline = new(b.Env.Now().Add(time.Minute))
	s := b.Run(facts)

	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, task.DeadlineExceeded, s.Error.Code)
	require.Equal(t, task.DeadlineExceeded, b.Items()[1].Error.Code)
	require.NotEmpty(t, b.output().Documents[0].Summary)
}

// A second task of the same lineage finds every answer in the ledger and pays for nothing.
func TestSummary_paidOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On(workflowtest.Marker(1), llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no"}}`), llmtest.Reply{})
	first := b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(4)}))
	require.Equal(t, 3, first.Progress.Counts.Succeeded)
	require.Equal(t, 4, b.Provider.Counts().Total)

	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	second := b.Run(b.Summary(task.SummaryInput{Documents: workflowtest.Texts(4)}))
	require.Equal(t, 4, second.Progress.Counts.Succeeded)
	require.Equal(t, 5, b.Provider.Counts().Total, "only the one that failed is asked again")
	require.EqualValues(t, 1, second.Usage.Requests)
	require.True(t, b.Items()[0].Cached)
}

// A run whose history has grown long goes on in a new one, with what is done and without a gap in
// the revisions.
func TestSummary_goesOnInANewRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.Summary(task.SummaryInput{Documents: workflowtest.Texts(5)})
	b.Env.SetContinueAsNewSuggested(true)
	before := b.Run(facts)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, b.Env.GetWorkflowError(), &next)
	require.Equal(t, "summary", next.WorkflowType.Name)
	require.Zero(t, b.Provider.Counts().Total)

	var start record.Start[summary.Carry]
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
	b.Renew()
	b.Execute("summary", start)
	require.NoError(t, b.Env.GetWorkflowError())
	after := b.State()
	require.Equal(t, 5, after.Progress.Counts.Succeeded)
	require.Greater(t, after.Revision, before.Revision)
	require.Equal(t, before.StartedAt, after.StartedAt)
	require.Equal(t, 5, b.Provider.Counts().Total)
}

// A document that is cut off in the middle keeps its name, and what it used is told: on the item, on
// the task, and the same on both.
func TestSummary_cutOffDocumentsAreAccountedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On(workflowtest.Part(5), llmtest.RateLimit(600), llmtest.Reply{})
	b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 5*time.Minute)
	s := b.Run(b.Summary(task.SummaryInput{Documents: []task.Document{{Name: "long", Text: workflowtest.Long(8)}, {Text: "Short."}}}))

	require.Equal(t, task.Cancelled, s.State)
	require.Equal(t, 9, b.Provider.Counts().Total)
	require.EqualValues(t, 8, s.Usage.Requests, "the answers that were paid for")
	var sum task.Usage
	for _, item := range b.Items() {
		sum = sum.Add(item.Usage)
	}
	require.Equal(t, s.Usage, sum)
	require.Equal(t, "long", b.Items()[0].Name)
	require.Equal(t, task.ItemCancelled, b.Items()[0].Status)
}

// A budget is overshot by no more than the calls of a small window, and one that cannot be kept is told.
func TestSummary_budget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Price(1)
	b.Provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Answer("A summary.", llmtest.Usage{Input: 9, Output: 1})
	})
	facts := b.Summary(task.SummaryInput{Documents: workflowtest.Texts(150)})
	facts.Budget = 100 // ten calls
	s := b.Run(facts)
	require.Equal(t, task.BudgetExceeded, s.Error.Code)
	require.Equal(t, task.Partial, s.Outcome)
	require.LessOrEqual(t, b.Provider.Counts().Total, 10+8)
	require.Contains(t, s.Error.Detail, fmt.Sprintf("it cost %g USD", s.Usage.Cost.Amount))

	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	b.Provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Stream(llmtest.Delta("Something.", ""), llmtest.Delta("", "stop"), "[DONE]")
	})
	in := task.SummaryInput{}
	for i := range 150 {
		in.Documents = append(in.Documents, task.Document{Text: fmt.Sprintf("Another report, number %d.", i)})
	}
	facts = b.Summary(in)
	facts.Budget = 100
	s = b.Run(facts)
	require.Equal(t, task.BudgetExceeded, s.Error.Code, "%v", s.Error)
	require.Contains(t, s.Error.Detail, "does not tell")
}

// A group that goes on in a new run has what is left of its budget there, and not the whole of it again.
func TestSummaryGroup_budgetOfTheNextRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Price(1)
	b.Provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Answer("A summary.", llmtest.Usage{Input: 9, Output: 1})
	})
	facts := b.Summary(task.SummaryInput{Documents: workflowtest.Texts(60)}) // ten units of money each
	b.Env.SetContinueAsNewSuggested(true)
	b.Run(facts)
	plan := goesOn[record.Start[summary.Carry]](b).Carry.Plan // nothing was done but that

	b.Renew()
	b.Env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == "SummarisePart" {
			b.Env.SetContinueAsNewSuggested(true)
		}
	})
	b.Execute("summary.group", summary.GroupStart{
		Task: record.TaskRef{ID: facts.ID, Tenant: facts.Tenant, Lineage: facts.Lineage}, Group: plan.Groups[0], FanIn: plan.FanIn, Budget: 500,
	})
	next := goesOn[summary.GroupStart](b)
	require.Positive(t, b.Provider.Counts().Total)
	require.InDelta(t, 500-10*b.Provider.Counts().Total, next.Budget, 1e-6)
}

// goesOn is what the next run of a workflow is started with.
func goesOn[T any](b *bench) (start T) {
	var next *workflow.ContinueAsNewError
	require.ErrorAs(b.T, b.Env.GetWorkflowError(), &next)
	require.NoError(b.T, converter.GetDefaultDataConverter().FromPayloads(next.Input, &start))
	return start
}

// A new run that begins by a clock that was put back does not let readers see the task change before it changed last.
func TestRun_clockGoesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.Summary(task.SummaryInput{Documents: workflowtest.Texts(2)})
	before := record.Snapshot{Revision: 7, State: task.Processing, StartedAt: b.Env.Now(), UpdatedAt: b.Env.Now().Add(time.Hour)}
	b.Execute(facts.Kind, record.Start[struct{}]{Facts: facts, Snapshot: &before})
	require.True(t, b.Env.IsWorkflowCompleted())
	after := b.State()
	require.Equal(t, task.Succeeded, after.State)
	require.Greater(t, after.Revision, before.Revision)
	require.True(t, after.UpdatedAt.Equal(before.UpdatedAt), after.UpdatedAt)
}

// By a Temporal whose clock is behind that of the API a task does not change before it was made.
func TestRun_clocksThatDiffer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.Summary(task.SummaryInput{Documents: workflowtest.Texts(2)})
	facts.CreatedAt = facts.CreatedAt.Add(time.Hour)
	require.False(t, b.Run(facts).UpdatedAt.Before(facts.CreatedAt))
}
