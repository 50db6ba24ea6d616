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

// Parts are the dependencies and settings of an engine. UIURL is the address of the Temporal Web UI, "" if unknown.
// Prepared is closed once the namespace has longhaul's search attributes; nil means that it has them.
type Parts struct {
	Prepared  <-chan struct{}
	Client    client.Client
	Namespace string
	Bucket    *storage.Bucket
	UIURL     string
	Queue     func(model string) string     // returns the task queue for calls to a model; nil means record.QueueLLM
	Priced    func(kind, model string) bool // reports whether the price of a model is configured; nil means never
	Mail      bool                          // whether a mail server is configured

	Queues       []string      // task queues of the providers, for System; nil means record.QueueLLM alone
	StalledAfter time.Duration // how long a task may make no progress before it is shown as stalled; 0 means never
}

// Engine starts, reads and cancels tasks. It is safe for concurrent use. All its state is a cache, so any number of engines
// can share a Temporal namespace and a bucket.
type Engine struct {
	Parts
	files      storage.Files
	endpoints  storage.Endpoints
	deliveries storage.Deliveries
	views      *viewCache
	polls      tenantPolls
	durations  *durationCache
	workers    workerCheck
	system     systemCache
}

// New creates an engine. It starts nothing and asks Temporal nothing.
func New(p Parts) *Engine {
	if p.Queue == nil {
		p.Queue = func(string) string { return "" }
	}
	e := &Engine{
		Parts: p, files: storage.NewFiles(p.Bucket), endpoints: storage.NewEndpoints(p.Bucket), deliveries: storage.NewDeliveries(p.Bucket),
		views: newViewCache(), polls: tenantPolls{active: map[string]*tenantPoll{}},
	}
	e.Client = invalidatingClient{p.Client, e.views.invalidate}
	e.durations = newDurationCache(e.readDurations)
	return e
}

// Create starts a task from a draft; once it returns, the task is durable and every read finds it. With an idempotency key, which is per tenant
// and valid as long as Temporal keeps the task, the same draft returns the same task, also to concurrent callers; replayed reports that it existed.
func (e *Engine) Create(ctx context.Context, d task.Draft) (t task.Task, replayed bool, err error) {
	if err := e.checkPrepared(); err != nil {
		return task.Task{}, false, err
	}
	// The key is looked up before the draft is validated: a repeated request finds its task even if its deadline has passed
	// or its file is gone.
	if t, found, err := e.findByKey(ctx, d); found || err != nil {
		return t, found, err
	}
	in, facts, err := e.validate(ctx, d)
	if err != nil {
		return task.Task{}, false, err
	}
	if facts.Notify, err = e.storeNotice(ctx, d, facts); err != nil {
		return task.Task{}, false, err
	}
	t, err = e.startWorkflow(ctx, facts, in)
	if is[*serviceerror.WorkflowExecutionAlreadyStarted](err) { // a concurrent request with the same key
		return e.findByKey(ctx, d)
	}
	return t, false, err
}

// validate checks a draft and returns the input and the facts of its task.
func (e *Engine) validate(ctx context.Context, d task.Draft) (in lifecycle.Input, f record.Facts, err error) {
	kind, ok := workflows.Find(d.Kind)
	if !ok {
		return in, f, invalid("/kind", "unknown kind %q; the kinds are: %s", d.Kind, kindNames())
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

// checkFiles returns an error that lists, by JSON Pointer, the files that the tenant does not have. ids maps pointers to file ids.
func (e *Engine) checkFiles(ctx context.Context, tenant string, ids map[string]string) error {
	refused := task.Errorf(task.Invalid, "the input names files that do not exist; upload them with POST /v1/files first")
	exists := map[string]bool{}
	for _, pointer := range slices.Sorted(maps.Keys(ids)) {
		id := ids[pointer]
		if _, checked := exists[id]; !checked {
			_, err := e.files.Stat(ctx, tenant, id)
			if err != nil && task.AsError(err).Code != task.NotFound {
				return err
			}
			exists[id] = err == nil
		}
		if !exists[id] {
			refused.Errors = append(refused.Errors, task.FieldError{Pointer: pointer, Detail: fmt.Sprintf("no file %q", id)})
		}
	}
	if len(refused.Errors) > 0 {
		return refused
	}
	return nil
}

// checkPrevious returns an error if the input continues a task that does not exist, has another kind or has not ended.
func (e *Engine) checkPrevious(ctx context.Context, d task.Draft, in lifecycle.Input) error {
	follower, ok := in.(lifecycle.Follower)
	if !ok {
		return nil
	}
	id, pointer := follower.Previous()
	if id == "" {
		return nil
	}
	previous, err := e.Standing(ctx, d.Tenant, id)
	switch {
	case err != nil && task.AsError(err).Code == task.NotFound:
		return invalid(pointer, "no task %q", id)
	case err != nil:
		return err
	case previous.Kind != d.Kind:
		return invalid(pointer, "task %s is of kind %s; a task of kind %s can continue only a task of the same kind", id, previous.Kind, d.Kind)
	case !previous.Done:
		return task.Errorf(task.Conflict, "task %s has not ended yet; wait for its end, then continue it", id).At(pointer)
	}
	return nil
}

// factsOf derives the facts of a new task from its draft, with relative times counted from now.
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
		return f, invalid("/deadline", "deadline %s has passed; give a later time", f.Deadline.Format(time.RFC3339))
	}
	if f.Deadline != nil && f.StartAt != nil && !f.Deadline.After(*f.StartAt) {
		return f, invalid("/deadline", "deadline is before the start of the task, %s; give a later time", f.StartAt.Format(time.RFC3339))
	}
	return f, nil
}

// bodyHash hashes kind, input and options of a draft. Spaces and the order of keys do not count.
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

// A task id is "task_" and 26 characters of base32: random, or with an idempotency key derived from tenant and key.
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

// findByKey returns the task that was started with a draft's idempotency key; task.KeyReused if its request was another.
func (e *Engine) findByKey(ctx context.Context, d task.Draft) (t task.Task, found bool, err error) {
	if d.IdempotencyKey == "" {
		return t, false, nil
	}
	existing, err := e.describeForTenant(ctx, d.Tenant, newID(d))
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
	if existing.facts.BodyHash != hash {
		return t, false, keyReused(existing.facts.ID)
	}
	t, _, err = e.fullTask(ctx, existing)
	return t, true, err
}

func keyReused(id string) error {
	return task.Errorf(task.KeyReused, "the Idempotency-Key was used for another request, which started task %s; use a new key for a new request", id)
}

// Cancel requests the cancellation of a task and returns before the task has stopped. Repeating it, or cancelling a task that has ended, changes
// nothing.
func (e *Engine) Cancel(ctx context.Context, tenant, id string) (task.Task, error) {
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil {
		return task.Task{}, err
	}
	if d.status.open() && !d.status.cancelRequested {
		// The task may end before the request arrives; the read below shows which came first.
		ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
		defer cancel()
		err := e.Client.CancelWorkflow(ctx, id, "")
		if err != nil && !is[*serviceerror.NotFound](err) {
			return task.Task{}, translateError(err, id)
		}
	}
	return e.Get(ctx, tenant, id)
}

// Ready returns nil if Temporal, its namespace and the bucket can be used, and otherwise an error that names the first that cannot.
func (e *Engine) Ready(ctx context.Context) error {
	if _, err := e.Client.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return task.Errorf(task.Unavailable, "Temporal cannot be reached").Because(err)
	}
	if err := e.checkPrepared(); err != nil {
		return err
	}
	if err := e.Bucket.Check(ctx); err != nil {
		return task.Errorf(task.Unavailable, "the bucket cannot be reached").Because(err)
	}
	return nil
}

// checkPrepared returns task.Unavailable while the namespace does not have longhaul's search attributes.
func (e *Engine) checkPrepared() error {
	if e.Parts.Prepared == nil {
		return nil
	}
	select {
	case <-e.Parts.Prepared:
		return nil
	default:
		return task.Errorf(task.Unavailable, "the search attributes of the Temporal namespace are not registered yet; try again in a moment")
	}
}

func invalid(pointer, format string, args ...any) *task.Error {
	return task.Errorf(task.Invalid, format, args...).At(pointer)
}

// translateError turns a Temporal error into a task.Error. It returns other errors as they are: the API shows them as internal.
func translateError(err error, id string) error {
	switch {
	case err == nil:
		return nil
	case is[*serviceerror.NotFound](err):
		return taskNotFound(id)
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
