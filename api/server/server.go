package server

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Tasks is all that the API needs of the tasks. An unknown id, a malformed one and one of another
// tenant are the same task.NotFound.
type Tasks interface {
	Requests
	Outputs
	Insight
	Failures
	Live
}

// Requests start, show and stop tasks.
type Requests interface {
	// Create answers the original task and replayed for an idempotency key it has seen with the same body.
	Create(ctx context.Context, d task.Draft) (t task.Task, replayed bool, err error)
	Get(ctx context.Context, tenant, id string) (task.Task, error)
	// Wait returns once the revision is past after or the task has ended. When ctx ends first it
	// returns the task as it is.
	Wait(ctx context.Context, tenant, id string, after int64) (task.Task, error)
	List(ctx context.Context, tenant string, f task.Filter) (task.Page[task.Task], error)
	Cancel(ctx context.Context, tenant, id string) (task.Task, error)
	// Input hands a task what a person says. What it does not wait for is task.Conflict.
	Input(ctx context.Context, tenant, id string, reply task.Reply) (task.Task, error)
	// Pause holds a task, and Resume lets it go on. One that has ended, or not begun, is task.Conflict.
	Pause(ctx context.Context, tenant, id, reason string) (task.Task, error)
	Resume(ctx context.Context, tenant, id string) (task.Task, error)
	// Replay runs a task that has ended again, as a new one. One that has not ended is task.Conflict.
	Replay(ctx context.Context, tenant, id, key string, order task.ReplayOrder) (t task.Task, replayed bool, err error)
}

// Failures are the tasks that failed for good and wait for a person.
type Failures interface {
	DeadLetters(ctx context.Context, tenant string, f task.DeadFilter) (task.Page[task.DeadLetter], error)
	DeadGroups(ctx context.Context, tenant string) (task.Page[task.DeadGroup], error)
	DeadLetter(ctx context.Context, tenant, id string) (task.DeadLetter, error)
	// ReplayDead runs one again, once however often it is asked to; replayed tells that it was before.
	ReplayDead(ctx context.Context, tenant, id string, order task.ReplayOrder) (t task.Task, replayed bool, err error)
	Discard(ctx context.Context, tenant, id, reason string) (task.DeadLetter, error)
}

// Live tells of tasks as they change. The caller closes the feeds.
type Live interface {
	// Events gives the states past a revision, the present one first, until the task has ended.
	Events(ctx context.Context, tenant, id string, after int64) (task.Feed, error)
	// AllEvents gives every task of a tenant that runs, that ended since a time, or that is new.
	AllEvents(ctx context.Context, tenant string, since time.Time) (task.Feed, error)
}

// Outputs read what tasks have made.
type Outputs interface {
	Result(ctx context.Context, tenant, id string) (*storage.Object, error)
	Items(ctx context.Context, tenant, id string, f task.ItemFilter) (task.Page[task.Item], error)
	AllItems(ctx context.Context, tenant, id string) iter.Seq2[task.Item, error]
	Artifacts(ctx context.Context, tenant, id string) (task.Page[task.Artifact], error)
	// Artifact opens one, and says what it is. The caller closes it.
	Artifact(ctx context.Context, tenant, id, name string) (task.Artifact, *storage.Object, error)
}

// Insight tells what happened, and whether anything can.
type Insight interface {
	Timeline(ctx context.Context, tenant, id, cursor string) (task.Page[task.Event], error)
	Ready(ctx context.Context) error
	// System tells how the installation stands, and how the tenant's tasks fare.
	System(ctx context.Context, tenant string) (task.System, error)
}

// Files keeps uploads.
type Files interface {
	Save(ctx context.Context, tenant, name, contentType string, r io.Reader, limit int64) (task.File, error)
	Stat(ctx context.Context, tenant, id string) (task.File, error)
	Open(ctx context.Context, tenant, id string) (*storage.Object, error)
	Delete(ctx context.Context, tenant, id string) error
}

// Hints hear that something may have changed at a provider. Anybody may say so: what they do must be harmless.
type Hints interface {
	Hint(ctx context.Context, id string, item int) error
}

// Meter counts answers. Route is the template of the route, "" where there is none.
type Meter interface {
	Answered(method, route string, status int, took time.Duration)
}

// Parts is what a server is made of.
type Parts struct {
	Tasks    Tasks
	Hints    Hints // nil: callbacks of providers are answered, and have no effect
	Webhooks Webhooks
	Files    Files
	Kinds    []task.KindInfo
	Keys     map[string]string // API key to tenant; none means one tenant, "default", and no keys
	Limits   Limits

	Heartbeat time.Duration // between two signs of life of a stream; 0 means 15 seconds

	Meter   Meter        // nil: nothing is counted
	Metrics http.Handler // answers under /metrics, nil: nobody does
	Log     *slog.Logger
	Version string
}

// Limits are the sizes, in bytes, above which a request is refused.
type Limits struct {
	MaxBody   int64 // of a JSON body
	MaxUpload int64 // of one uploaded file
}

type server struct {
	Parts
	hints   hintGate
	bodies  map[string]*schema.Schema // what POST /v1/tasks takes, by kind
	anyKind *schema.Schema            // what it takes when the kind is not known

	bodiesOf map[string]*schema.Schema // what other requests take: otherBodies
	api      huma.API
	router   *gin.Engine
}

// New makes the API. It fails when a kind's schema is not a schema.
func New(p Parts) (http.Handler, error) {
	s, err := build(p)
	if err != nil {
		return nil, err
	}
	return paced(headAsGet(s.router)), nil
}

func build(p Parts) (*server, error) {
	s := &server{Parts: p}
	if s.Heartbeat <= 0 {
		s.Heartbeat = usualBeat
	}
	if err := s.compile(); err != nil {
		return nil, err
	}
	s.router = s.newRouter()
	s.api = humagin.New(s.router, s.config())
	s.routes()
	spec, err := s.spec()
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	s.pages(spec)
	if s.Metrics != nil {
		s.router.GET("/metrics", gin.WrapH(s.Metrics))
	}
	return s, nil
}

func (s *server) newRouter() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	_ = r.SetTrustedProxies(nil) // never fails on none; a client's X-Forwarded-For is not believed
	r.RedirectTrailingSlash = false
	r.HandleMethodNotAllowed = true
	r.Use(s.logged, s.recovered, s.atHome, s.authorised, s.plainQuery)
	r.NoRoute(func(c *gin.Context) {
		s.fail(c, task.Errorf(task.NotFound, "no route %s; /docs lists them all", c.Request.URL.Path))
	})
	r.NoMethod(func(c *gin.Context) {
		s.fail(c, task.Errorf(task.NotAllowed, "%s is not for this route; it takes %s", c.Request.Method, c.Writer.Header().Get("Allow")))
	})
	return r
}

// compile prepares the check of task bodies from the schemas that are published.
func (s *server) compile() error {
	var err error
	if s.anyKind, err = schema.Compile(anyKindBody(s.Kinds)); err != nil {
		return err
	}
	s.bodiesOf = map[string]*schema.Schema{}
	for name, b := range otherBodies() {
		if s.bodiesOf[name], err = schema.Compile(schema.Of(b.form)); err != nil {
			return fmt.Errorf("body of %s: %w", name, err)
		}
	}
	s.bodies = map[string]*schema.Schema{}
	for _, kind := range s.Kinds {
		body, err := kindBody(kind)
		if err != nil {
			return fmt.Errorf("kind %s: %w", kind.Name, err)
		}
		if s.bodies[kind.Name], err = schema.Compile(body); err != nil {
			return fmt.Errorf("kind %s: %w", kind.Name, err)
		}
	}
	return nil
}
