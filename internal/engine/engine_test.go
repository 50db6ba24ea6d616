package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

var now = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

func draft(change func(*task.Draft)) task.Draft {
	d := task.Draft{Tenant: "acme", Kind: "summary", Input: []byte(`{"documents":[{"text":"a"}],"words":100}`)}
	if change != nil {
		change(&d)
	}
	return d
}

func TestIDs(t *testing.T) {
	t.Parallel()
	require.Regexp(t, validID, newID(draft(nil)))
	require.NotEqual(t, newID(draft(nil)), newID(draft(nil)), "without a key every request starts a new task")
	keyed := func(tenant, key string) string {
		return newID(draft(func(d *task.Draft) { d.Tenant, d.IdempotencyKey = tenant, key }))
	}
	require.Regexp(t, validID, keyed("acme", "k"))
	require.Equal(t, keyed("acme", "k"), keyed("acme", "k"))
	require.NotEqual(t, keyed("acme", "k"), keyed("other", "k"))
	require.NotEqual(t, keyed("a", "bc"), keyed("ab", "c"))
}

func TestBodyHash(t *testing.T) {
	t.Parallel()
	hash := func(change func(*task.Draft)) string {
		h, err := bodyHash(draft(change))
		require.NoError(t, err)
		return h
	}
	base := hash(nil)
	for name, change := range map[string]func(*task.Draft){
		"spaces and order": func(d *task.Draft) {
			d.Input = []byte(`{ "words": 100, "documents": [ {"text": "a"} ] }`)
		},
		"key":    func(d *task.Draft) { d.IdempotencyKey = "k" },
		"tenant": func(d *task.Draft) { d.Tenant = "other" },
	} {
		require.Equal(t, base, hash(change), name)
	}
	for name, change := range map[string]func(*task.Draft){
		"input":    func(d *task.Draft) { d.Input = []byte(`{"documents":[{"text":"b"}],"words":100}`) },
		"label":    func(d *task.Draft) { d.Labels = map[string]string{"a": "b"} },
		"delay":    func(d *task.Draft) { d.Delay = time.Minute },
		"deadline": func(d *task.Draft) { d.Within = time.Minute },
		"model":    func(d *task.Draft) { d.Model = "m" },
	} {
		require.NotEqual(t, base, hash(change), name)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	past, soon, later := now.Add(-time.Minute), now.Add(time.Minute), now.Add(time.Hour)
	tests := map[string]struct {
		change   func(*task.Draft)
		start    *time.Time
		deadline *time.Time
		refused  string
	}{
		"at once":               {},
		"delay":                 {change: func(d *task.Draft) { d.Delay = time.Minute }, start: &soon},
		"start in the past":     {change: func(d *task.Draft) { d.StartAt = &past }},
		"start later":           {change: func(d *task.Draft) { d.StartAt = &soon }, start: &soon},
		"deadline":              {change: func(d *task.Draft) { d.Deadline = &later }, deadline: &later},
		"within":                {change: func(d *task.Draft) { d.Within = time.Hour }, deadline: &later},
		"deadline over":         {change: func(d *task.Draft) { d.Deadline = &past }, refused: "has passed"},
		"deadline before start": {change: func(d *task.Draft) { d.Within, d.Delay = time.Minute, time.Hour }, refused: "before the start"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := factsOf(draft(test.change), now)
			if test.refused != "" {
				require.ErrorContains(t, err, test.refused)
				require.Equal(t, "/deadline", task.AsError(err).Errors[0].Pointer)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.start, f.StartAt)
			require.Equal(t, test.deadline, f.Deadline)
			require.Equal(t, 3, f.Priority)
			require.Equal(t, f.ID, f.Lineage)
		})
	}
}

// A task shows changes that only Temporal knows, with a revision that does not fall when the workflow publishes them.
func TestStates(t *testing.T) {
	t.Parallel()
	running, done := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	tests := map[string]struct {
		memo     record.Snapshot
		status   status
		want     task.State
		revision int64
		outcome  task.Outcome
		code     task.Code
	}{
		"accepted": {memo: record.Snapshot{Revision: 1, State: task.Pending}, status: status{temporal: running}, want: task.Pending, revision: 1},
		"scheduled": {
			memo: record.Snapshot{Revision: 1, State: task.Scheduled}, status: status{temporal: running, executionTime: time.Now().Add(time.Hour)},
			want: task.Scheduled, revision: 1,
		},
		"start time has passed": {
			memo: record.Snapshot{Revision: 1, State: task.Scheduled}, status: status{temporal: running, executionTime: time.Now().Add(-time.Second)},
			want: task.Pending, revision: 2,
		},
		"processing": {memo: record.Snapshot{Revision: 5, State: task.Processing}, status: status{temporal: running}, want: task.Processing, revision: 5},
		"cancel not seen by the workflow": {
			memo: record.Snapshot{Revision: 5, State: task.Processing}, status: status{temporal: running, cancelRequested: true},
			want: task.Cancelling, revision: 6,
		},
		"cancel before the start": {
			memo: record.Snapshot{Revision: 1, State: task.Scheduled}, status: status{temporal: running, cancelRequested: true},
			want: task.Cancelling, revision: 3,
		},
		"cancel seen by the workflow": {
			memo: record.Snapshot{Revision: 6, State: task.Cancelling}, status: status{temporal: running, cancelRequested: true},
			want: task.Cancelling, revision: 6,
		},
		"end published, not closed": {
			memo: record.Snapshot{Revision: 9, State: task.Succeeded, Outcome: task.Full}, status: status{temporal: running},
			want: task.Processing, revision: 7,
		},
		"ended": {
			memo: record.Snapshot{Revision: 9, State: task.Succeeded, Outcome: task.Full}, status: status{temporal: done},
			want: task.Succeeded, revision: 9, outcome: task.Full,
		},
		"terminated in Temporal": {
			memo: record.Snapshot{Revision: 5, State: task.Processing}, status: status{temporal: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED},
			want: task.Failed, revision: 8, outcome: task.None, code: task.Terminated,
		},
		"cancelled before it began": {
			memo: record.Snapshot{Revision: 1, State: task.Scheduled}, status: status{temporal: enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED},
			want: task.Cancelled, revision: 4, outcome: task.None,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := New(Parts{}).build(record.Facts{ID: "task_x"}, test.memo, test.status)
			require.Equal(t, test.want, got.Status)
			require.Equal(t, test.revision, got.Revision)
			require.Equal(t, test.outcome, got.Outcome)
			require.Equal(t, test.want.Terminal(), got.Done)
			require.Equal(t, got.Done, got.FinishedAt != nil)
			if test.code != "" {
				require.Equal(t, test.code, got.Error.Code)
			}
		})
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	base := "LonghaulTenant = 'acme' AND ExecutionStatus != 'ContinuedAsNew'"
	require.Equal(t, base, query("acme", task.Filter{}))
	require.Equal(t, base+" AND LonghaulKind = 'summary'", query("acme", task.Filter{Kind: "summary"}))
	injection := query("acme", task.Filter{Labels: map[string]string{"a": `x' OR LonghaulTenant = 'other`}})
	require.Equal(t, base+` AND LonghaulLabels = 'a:x\' OR LonghaulTenant = \'other'`, injection)
	for _, s := range task.States() {
		require.NotEmpty(t, stateQuery(s, now))
	}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	token, ok := readCursor(writeCursor([]byte("page 2")))
	require.True(t, ok)
	require.Equal(t, "page 2", string(token))
	for _, bad := range []string{"AAAA", "xyz!", writeCursor([]byte("page 2"))[1:], "AAAAAAAAAAAAAAAA"} {
		_, ok := readCursor(bad)
		require.False(t, ok, bad)
	}
}

func TestTranslateError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		code task.Code
	}{
		"not found": {serviceerror.NewNotFound("x"), task.NotFound},
		"down":      {serviceerror.NewUnavailable("x"), task.Unavailable},
		"too slow":  {serviceerror.NewDeadlineExceeded("x"), task.Unavailable},
		"too many":  {serviceerror.NewResourceExhausted(0, "x"), task.Unavailable},
		"unknown":   {errors.New("folder /secret"), task.Internal},
	}
	for name, test := range tests {
		e := task.AsError(translateError(test.err, "task_x"))
		require.Equal(t, test.code, e.Code, name)
		require.NotContains(t, e.Detail, "secret")
	}
}

func TestRetryingAndThrottled(t *testing.T) {
	t.Parallel()
	failure := func(kind, text string) *failurepb.Failure {
		return &failurepb.Failure{Message: text, FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
			ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: kind},
		}}
	}
	waiting := &workflowpb.PendingActivityInfo{
		State: enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, Attempt: 4, NextAttemptScheduleTime: timestamppb.New(now),
		LastFailure: failure(string(task.RateLimited), "asked to wait"),
	}
	broken := &workflowpb.PendingActivityInfo{
		State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: 2, LastFailure: failure("wrapError", "open /var/lib/secret: denied"),
	}
	require.Nil(t, retrying(nil))
	r := retrying([]*workflowpb.PendingActivityInfo{broken, waiting, {}})
	require.Equal(t, 4, r.Attempt)
	require.Equal(t, 2, r.Calls)
	require.Equal(t, "asked to wait", r.LastError)
	require.NotContains(t, retrying([]*workflowpb.PendingActivityInfo{broken}).LastError, "secret")
	paused := &workflowpb.PendingActivityInfo{
		State: enumspb.PENDING_ACTIVITY_STATE_PAUSED, Attempt: 2,
		LastFailure: temporal.GetDefaultFailureConverter().ErrorToFailure(activity.ErrActivityPaused),
	}
	require.Nil(t, retrying([]*workflowpb.PendingActivityInfo{paused}), "a pause is no failure")
	require.Equal(t, 1, retrying([]*workflowpb.PendingActivityInfo{paused, broken}).Calls)

	require.Equal(t, now, *throttled([]*workflowpb.PendingActivityInfo{waiting}).Until)
	beat, err := converter.GetDefaultDataConverter().ToPayloads(record.Heartbeat{Waiting: true})
	require.NoError(t, err)
	inLane := &workflowpb.PendingActivityInfo{State: enumspb.PENDING_ACTIVITY_STATE_STARTED, HeartbeatDetails: beat}
	require.Contains(t, throttled([]*workflowpb.PendingActivityInfo{inLane}).Detail, "queued for the model provider")
	require.Nil(t, throttled([]*workflowpb.PendingActivityInfo{waiting, broken}), "a call runs")
}

// Items are read one by one while the task runs, and from one list after it has ended.
func TestItems(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b, err := storage.Open(ctx, "mem://")
	require.NoError(t, err)
	e := New(Parts{Bucket: b})
	running := task.Task{ID: "task_x", Progress: task.Progress{Counts: task.Counts{Total: 70}}}
	require.NoError(t, b.PutJSON(ctx, storage.ItemKey("task_x", 40), task.Item{ID: "40", Index: 40, Status: task.ItemSucceeded}))
	read := 0
	for item, err := range e.storedItems(ctx, running, 3) {
		require.NoError(t, err)
		require.Equal(t, read+3, item.Index)
		require.Equal(t, item.Index == 40, item.Status == task.ItemSucceeded)
		read++
	}
	require.Equal(t, 67, read)

	ended := running
	ended.Done = true
	lines := `{"id":"0","index":0,"status":"succeeded"}` + "\n" + `{"id":"1","index":1,"status":"failed"}` + "\n"
	require.NoError(t, b.Put(ctx, storage.ItemsKey("task_x"), "", []byte(lines)))
	var status []string
	for item, err := range e.storedItems(ctx, ended, 0) {
		require.NoError(t, err)
		status = append(status, string(item.Status))
	}
	require.Equal(t, "succeeded failed", strings.Join(status, " "))
}

// Replies are equal if their JSON means the same, however it is formatted.
func TestSameReply(t *testing.T) {
	reply := task.Reply{Request: "call-1-1", Action: task.Approve, Arguments: json.RawMessage(`{"q": "a & b"}`)}
	stored, err := json.Marshal(reply)
	require.NoError(t, err)
	var decoded task.Reply
	require.NoError(t, json.Unmarshal(stored, &decoded))
	require.True(t, sameReply(decoded, reply))
	reply.Arguments = json.RawMessage(`{"q": "a & c"}`)
	require.False(t, sameReply(decoded, reply))
}

// If the clock was set back, a task may close before its last update: finished_at is then the last update.
func TestBuild_clockSetBack(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	for closed, want := range map[time.Time]time.Time{now.Add(time.Second): now.Add(time.Second), now.Add(-time.Hour): now} {
		s := record.Snapshot{Revision: 9, State: task.Succeeded, Outcome: task.Full, UpdatedAt: now}
		built := e.build(record.Facts{ID: "task_a"}, s, status{temporal: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, closeTime: closed})
		require.Equal(t, want, *built.FinishedAt)
	}
}

func TestRecent(t *testing.T) {
	t.Parallel()
	require.True(t, recent(time.Now().Add(-time.Second), time.Minute))
	require.False(t, recent(time.Now().Add(-time.Hour), time.Minute))
	require.False(t, recent(time.Now().Add(time.Hour), time.Minute), "a time in the future is left by a clock that was set back")
}
