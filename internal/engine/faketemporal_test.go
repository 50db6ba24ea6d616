package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// fakeTemporal is a Temporal server with scripted workflows; it counts requests.
type fakeTemporal struct {
	workflowservice.UnimplementedWorkflowServiceServer
	describes, histories, lists atomic.Int64
	down                        atomic.Bool
	deleted                     string // id of a task that is still listed, but cannot be described

	mu    sync.Mutex
	tasks map[string]*fakeWorkflow
}

type fakeWorkflow struct {
	facts     record.Facts
	state     record.Snapshot
	temporal  enumspb.WorkflowExecutionStatus
	cancelled bool
	events    int
	pauses    []record.Pause // signals that no worker has handled
	closed    time.Time
	beat      *record.Heartbeat
	changed   chan struct{}
}

// newFake starts a fake Temporal server and engines on it, which share nothing but the server and a bucket.
func newFake(t testing.TB, engines int) (*fakeTemporal, []*Engine) {
	t.Helper()
	f := &fakeTemporal{tasks: map[string]*fakeWorkflow{}}
	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if f.down.Load() {
			return nil, grpcstatus.Error(codes.Unavailable, "down")
		}
		answer, err := next(ctx, req)
		return answer, serviceerror.ToStatus(err).Err()
	}))
	workflowservice.RegisterWorkflowServiceServer(srv, f)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	bucket, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	var all []*Engine
	for range engines {
		c, err := client.Dial(client.Options{HostPort: l.Addr().String(), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		all = append(all, New(Parts{Client: c, Namespace: "default", Bucket: bucket}))
	}
	return f, all
}

// run starts a task that is being processed, and returns its id.
func (f *fakeTemporal) run(tenant string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := newID(task.Draft{})
	now := time.Now()
	f.tasks[id] = &fakeWorkflow{
		facts:    record.Facts{ID: id, Kind: "summary", Tenant: tenant, CreatedAt: now, Priority: 3},
		state:    record.Snapshot{Revision: 2, State: task.Processing, StartedAt: now, UpdatedAt: now},
		temporal: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, events: 3, changed: make(chan struct{}),
	}
	return id
}

// move changes a task as its workflow would, with a new event in its history.
func (f *fakeTemporal) move(id string, change func(w *fakeWorkflow)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.tasks[id]
	w.state.Revision++
	if change != nil {
		change(w)
	}
	w.events++
	close(w.changed)
	w.changed = make(chan struct{})
}

func (f *fakeTemporal) finish(id string) {
	f.move(id, func(w *fakeWorkflow) {
		w.state.State, w.state.Outcome = task.Succeeded, task.Full
		w.temporal, w.closed = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, time.Now()
	})
}

func (f *fakeTemporal) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (f *fakeTemporal) DescribeTaskQueue(context.Context, *workflowservice.DescribeTaskQueueRequest) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, nil
}

func payload(v any) *commonpb.Payload {
	p, err := converter.GetDefaultDataConverter().ToPayload(v)
	if err != nil {
		panic(err)
	}
	return p
}

// info returns the list entry of a workflow. The caller holds the lock.
func (w *fakeWorkflow) info() *workflowpb.WorkflowExecutionInfo {
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: w.facts.ID, RunId: "run"}, Type: &commonpb.WorkflowType{Name: w.facts.Kind},
		Status: w.temporal, StartTime: timestamppb.New(w.facts.CreatedAt), ExecutionTime: timestamppb.New(w.facts.CreatedAt),
		SearchAttributes: &commonpb.SearchAttributes{},
		Memo:             &commonpb.Memo{Fields: map[string]*commonpb.Payload{record.MemoFacts: payload(w.facts), record.MemoState: payload(w.state)}},
	}
	if !w.closed.IsZero() {
		info.CloseTime = timestamppb.New(w.closed)
	}
	return info
}

func (f *fakeTemporal) DescribeWorkflowExecution(_ context.Context, r *workflowservice.DescribeWorkflowExecutionRequest) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	f.describes.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.tasks[r.GetExecution().GetWorkflowId()]
	if w == nil || w.facts.ID == f.deleted {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	d := &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: w.info(),
		WorkflowExtendedInfo:  &workflowpb.WorkflowExecutionExtendedInfo{CancelRequested: w.cancelled},
	}
	if w.beat != nil {
		details, _ := converter.GetDefaultDataConverter().ToPayloads(*w.beat)
		d.PendingActivities = []*workflowpb.PendingActivityInfo{{
			ActivityId: "work.7", HeartbeatDetails: details, State: enumspb.PENDING_ACTIVITY_STATE_STARTED, ActivityType: &commonpb.ActivityType{Name: "AgentTurn"},
		}}
	}
	return d, nil
}

func (f *fakeTemporal) RequestCancelWorkflowExecution(_ context.Context, r *workflowservice.RequestCancelWorkflowExecutionRequest) (*workflowservice.RequestCancelWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks[r.GetWorkflowExecution().GetWorkflowId()].cancelled = true // without a history event, which comes later
	return &workflowservice.RequestCancelWorkflowExecutionResponse{}, nil
}

func (f *fakeTemporal) SignalWorkflowExecution(_ context.Context, r *workflowservice.SignalWorkflowExecutionRequest) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pause record.Pause
	if err := converter.GetDefaultDataConverter().FromPayloads(r.GetInput(), &pause); err != nil {
		return nil, serviceerror.NewInvalidArgument(err.Error())
	}
	w := f.tasks[r.GetWorkflowExecution().GetWorkflowId()]
	w.pauses = append(w.pauses, pause)
	return &workflowservice.SignalWorkflowExecutionResponse{}, nil
}

func (f *fakeTemporal) GetWorkflowExecutionHistory(ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	f.histories.Add(1)
	from := 0
	_, _ = fmt.Sscan(string(r.GetNextPageToken()), &from) // no token is event 0
	for {
		f.mu.Lock()
		w := f.tasks[r.GetExecution().GetWorkflowId()]
		if w == nil {
			f.mu.Unlock()
			return nil, serviceerror.NewNotFound("no such workflow")
		}
		events, changed, open := w.events, w.changed, w.closed.IsZero()
		f.mu.Unlock()
		answer := &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{}}
		for range events - from {
			answer.History.Events = append(answer.History.Events, &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED})
		}
		if open {
			answer.NextPageToken = fmt.Append(nil, events)
		}
		if events > from || !open {
			return answer, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Second):
			return answer, nil
		case <-changed:
		}
	}
}

func (f *fakeTemporal) ListWorkflowExecutions(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	f.lists.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range slices.Sorted(maps.Keys(f.tasks)) {
		w := f.tasks[id]
		if id <= string(r.GetNextPageToken()) || strings.Contains(r.GetQuery(), "LonghaulTenant") && !strings.Contains(r.GetQuery(), quote(w.facts.Tenant)) {
			continue
		}
		if answer.Executions = append(answer.Executions, w.info()); len(answer.Executions) == int(r.GetPageSize()) {
			answer.NextPageToken = []byte(id)
			break
		}
	}
	return answer, nil
}
