package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
	"longhaul/workflows/lifecycle"
)

// Parts is what an engine works with. UIURL is the address of the Temporal Web UI, "" if unknown.
// Prepared is closed once the namespace has our search attributes; nil means that it has.
type Parts struct {
	Prepared  <-chan struct{}
	Client    client.Client
	Namespace string
	Bucket    *storage.Bucket
	UIURL     string
	Queue     func(model string) string     // the task queue of the calls to a model; nil means the one of all
	Priced    func(kind, model string) bool // whether it is known what a model costs; nil means never
	Mail      bool                          // whether mails can be sent

	Queues       []string      // task queues of the providers; nil is that of the first
	StalledAfter time.Duration // how long nothing may move before a task says so; 0 means that it never does
}

// Engine starts, reads and cancels tasks. It is safe for concurrent use, and holds no state that
// another engine on the same Temporal and bucket would miss: what it remembers for readers, it can look up.
type Engine struct {
	Parts
	files      storage.Files
	endpoints  storage.Endpoints
	deliveries storage.Deliveries
	views      *views
	tenants    tenants
	paces      *paces
	workers    workerWatch
	system     systemCache
}

// New makes an engine.
func New(p Parts) *Engine {
	if p.Queue == nil {
		p.Queue = func(string) string { return "" }
	}
	e := &Engine{
		Parts: p, files: storage.NewFiles(p.Bucket), endpoints: storage.NewEndpoints(p.Bucket), deliveries: storage.NewDeliveries(p.Bucket),
		views: newViews(), tenants: tenants{live: map[string]*crowd{}},
	}
	e.Client = attentive{p.Client, e.views.wrote}
	e.paces = newPaces(e.finished)
	return e
}

// Create accepts a draft as a task. When it returns without an error the task is kept and every
// read finds it. With an idempotency key the same draft gives the same task, whatever became of it
// and whoever raced; replayed tells that it was there already. The key belongs to the tenant and
// holds as long as Temporal keeps the task.
func (e *Engine) Create(ctx context.Context, d task.Draft) (t task.Task, replayed bool, err error) {
	if err := e.prepared(); err != nil {
		return task.Task{}, false, err
	}
	// What a key was used for before counts first: a repeated request must find its task even when
	// it could not become one now, because its deadline has passed or its file is gone.
	if t, found, err := e.earlier(ctx, d); found || err != nil {
		return t, found, err
	}
	in, facts, err := e.examine(ctx, d)
	if err != nil {
		return task.Task{}, false, err
	}
	if facts.Notify, err = e.notice(ctx, d, facts); err != nil {
		return task.Task{}, false, err
	}
	t, err = e.start(ctx, facts, in)
	if is[*serviceerror.WorkflowExecutionAlreadyStarted](err) { // another with this key was faster
		return e.earlier(ctx, d)
	}
	return t, false, err
}

// examine finds out whether a draft can become a task, and what it would be.
func (e *Engine) examine(ctx context.Context, d task.Draft) (in lifecycle.Input, f record.Facts, err error) {
	kind, ok := workflows.Find(d.Kind)
	if !ok {
		return in, f, invalid("/kind", "unknown kind %q; there are: %s", d.Kind, kindNames())
	}
	if in, err = kind.Decode(d.Input); err != nil {
		return in, f, err
	}
	if err = e.checkFiles(ctx, d.Tenant, in.FileIDs()); err != nil {
		return in, f, err
	}
	if err = e.checkPrevious(ctx, d, in); err != nil {
		return in, f, err
	}
	f, err = factsOf(d, time.Now())
	if err == nil {
		err = f.CheckBudget("/budget", e.Priced)
	}
	f.Queue = e.Queue(d.Model)
	return in, f, err
}

func kindNames() string {
	var names []string
	for _, k := range workflows.Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// checkFiles refuses an input that names files the tenant does not have.
func (e *Engine) checkFiles(ctx context.Context, tenant string, ids map[string]string) error {
	refused := task.Errorf(task.Invalid, "the input names files that do not exist; upload them with POST /v1/files first")
	known := map[string]bool{}
	for _, pointer := range slices.Sorted(maps.Keys(ids)) {
		id := ids[pointer]
		if _, seen := known[id]; !seen {
			_, err := e.files.Stat(ctx, tenant, id)
			if err != nil && task.AsError(err).Code != task.NotFound {
				return err
			}
			known[id] = err == nil
		}
		if !known[id] {
			refused.Errors = append(refused.Errors, task.FieldError{Pointer: pointer, Detail: fmt.Sprintf("no file %q", id)})
		}
	}
	if len(refused.Errors) > 0 {
		return refused
	}
	return nil
}

// checkPrevious refuses an input that goes on from a task it cannot go on from.
func (e *Engine) checkPrevious(ctx context.Context, d task.Draft, in lifecycle.Input) error {
	follower, ok := in.(lifecycle.Follower)
	if !ok {
		return nil
	}
	id, pointer := follower.Previous()
	if id == "" {
		return nil
	}
	before, err := e.Standing(ctx, d.Tenant, id)
	switch {
	case err != nil && task.AsError(err).Code == task.NotFound:
		return invalid(pointer, "no task %q", id)
	case err != nil:
		return err
	case before.Kind != d.Kind:
		return invalid(pointer, "task %s is of the kind %s; a task goes on from one of its own kind, %s", id, before.Kind, d.Kind)
	case !before.Done:
		return task.Errorf(task.Conflict, "task %s has not ended yet; go on from it when it has", id).At(pointer)
	}
	return nil
}

func factsOf(d task.Draft, now time.Time) (record.Facts, error) {
	hash, err := bodyHash(d)
	if err != nil {
		return record.Facts{}, err
	}
	f := record.Facts{
		ID: newID(d), Kind: d.Kind, Tenant: d.Tenant, Labels: d.Labels, Priority: d.Priority, Model: d.Model, Budget: d.Budget,
		CreatedAt: now.UTC(), StartAt: d.StartAt, Deadline: d.Deadline, BodyHash: hash,
	}
	f.Lineage, f.InputKey = f.ID, storage.InputKey(f.ID, hash[:16])
	if f.Priority == 0 {
		f.Priority = 3
	}
	if d.Delay > 0 {
		f.StartAt = new(f.CreatedAt.Add(d.Delay))
	}
	if d.Within > 0 {
		f.Deadline = new(f.CreatedAt.Add(d.Within))
	}
	if f.StartAt != nil && !f.StartAt.After(now) {
		f.StartAt = nil
	}
	if f.Deadline != nil && !f.Deadline.After(now) {
		return f, invalid("/deadline", "the deadline %s has passed", f.Deadline.Format(time.RFC3339))
	}
	if f.Deadline != nil && f.StartAt != nil && !f.Deadline.After(*f.StartAt) {
		return f, invalid("/deadline", "the deadline comes before the start, %s", f.StartAt.Format(time.RFC3339))
	}
	return f, nil
}

// bodyHash tells one request from another: over its meaning, not over its spaces.
func bodyHash(d task.Draft) (string, error) {
	var input any
	decoder := json.NewDecoder(strings.NewReader(string(d.Input)))
	decoder.UseNumber()
	if err := decoder.Decode(&input); err != nil {
		return "", task.Errorf(task.BadRequest, "the input is not JSON: %s", err)
	}
	data, err := json.Marshal([]any{d.Kind, input, d.Options})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// A task id is "task_" and 26 characters that cannot be guessed: random ones, or for a keyed
// request those that tenant and key always give.
var validID = regexp.MustCompile(`^task_[a-z2-7]{26}$`)

func newID(d task.Draft) string {
	text := rand.Text()
	if d.IdempotencyKey != "" {
		sum := sha256.Sum256([]byte(d.Tenant + "\x00" + d.IdempotencyKey))
		text = base32.StdEncoding.EncodeToString(sum[:])
	}
	return "task_" + strings.ToLower(text[:26])
}

func startOptions(kind lifecycle.Kind, f record.Facts) client.StartWorkflowOptions {
	first := record.FirstSnapshot(len(kind.Steps), f)
	options := client.StartWorkflowOptions{
		ID: f.ID, TaskQueue: record.QueueWorkflows, WorkflowTaskTimeout: record.WorkflowTaskTimeout,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{record.MemoFacts: f, record.MemoState: first},
		TypedSearchAttributes:                    f.Attributes(first),
		StaticSummary:                            f.Headline,
		StaticDetails:                            fmt.Sprintf("**%s** for tenant `%s`", kind.Title, f.Tenant),
		Priority:                                 temporal.Priority{PriorityKey: f.Priority, FairnessKey: f.Tenant},
	}
	if f.StartAt != nil {
		options.StartDelay = f.StartAt.Sub(f.CreatedAt)
	}
	return options
}

// earlier gives the task that a draft's key already belongs to, if it was made of the same request.
func (e *Engine) earlier(ctx context.Context, d task.Draft) (t task.Task, found bool, err error) {
	if d.IdempotencyKey == "" {
		return t, false, nil
	}
	was, err := e.describe(ctx, d.Tenant, newID(d))
	if err != nil {
		if task.AsError(err).Code == task.NotFound {
			err = nil
		}
		return t, false, err
	}
	hash, err := bodyHash(d)
	if err != nil {
		return t, false, err
	}
	if was.facts.BodyHash != hash {
		return t, false, keyReused(was.facts.ID)
	}
	t, _, err = e.whole(ctx, was)
	return t, true, err
}

func keyReused(id string) error {
	return task.Errorf(task.KeyReused, "the Idempotency-Key was used for another request; its task is %s. Use a new key for a new request", id)
}

// Cancel asks a task to stop and returns before it has. Asked again, or of a task that ended, it
// changes nothing.
func (e *Engine) Cancel(ctx context.Context, tenant, id string) (task.Task, error) {
	d, err := e.describe(ctx, tenant, id)
	if err != nil {
		return task.Task{}, err
	}
	if d.status.open() && !d.status.cancelRequested {
		// The task may end in between: then the next read tells.
		ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
		defer cancel()
		err := e.Client.CancelWorkflow(ctx, id, "")
		if err != nil && !is[*serviceerror.NotFound](err) {
			return task.Task{}, words(err, id)
		}
	}
	return e.Get(ctx, tenant, id)
}

// Ready tells what cannot be reached, nil if all can.
func (e *Engine) Ready(ctx context.Context) error {
	if _, err := e.Client.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return task.Errorf(task.Unavailable, "Temporal cannot be reached").Because(err)
	}
	if err := e.prepared(); err != nil {
		return err
	}
	if err := e.Bucket.Check(ctx); err != nil {
		return task.Errorf(task.Unavailable, "the bucket cannot be reached").Because(err)
	}
	return nil
}

// prepared refuses what needs search attributes while the namespace does not have them.
func (e *Engine) prepared() error {
	if e.Parts.Prepared == nil {
		return nil
	}
	select {
	case <-e.Parts.Prepared:
		return nil
	default:
		return task.Errorf(task.Unavailable, "the Temporal namespace is not prepared yet; try again in a moment")
	}
}

func invalid(pointer, format string, args ...any) *task.Error {
	return task.Errorf(task.Invalid, format, args...).At(pointer)
}

// words puts a Temporal error into ours. What it does not know stays internal.
func words(err error, id string) error {
	switch {
	case err == nil:
		return nil
	case is[*serviceerror.NotFound](err):
		return missing(id)
	case is[*serviceerror.Unavailable](err), is[*serviceerror.ResourceExhausted](err),
		is[*serviceerror.DeadlineExceeded](err), errors.Is(err, context.DeadlineExceeded):
		return task.Errorf(task.Unavailable, "Temporal does not answer; try again in a moment").Because(err)
	default:
		return err
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
