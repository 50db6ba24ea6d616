package server

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"longhaul/internal/task"
)

// caller is who makes a request, and what the request is called in the log.
type caller struct{ tenant, request string }

type callerKey struct{}

func callerOf(ctx context.Context) *caller {
	if who, ok := ctx.Value(callerKey{}).(*caller); ok {
		return who
	}
	return &caller{}
}

func tenant(ctx context.Context) string { return callerOf(ctx).tenant }

// logged gives each request its id and, when it has been answered, its line in the log. The route
// is logged, never the address: a query may hold what must not be kept.
func (s *server) logged(c *gin.Context) {
	began := time.Now()
	who := &caller{request: requestID(c.GetHeader("X-Request-Id"))}
	c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), callerKey{}, who))
	c.Header("X-Request-Id", who.request)
	c.Header("X-Content-Type-Options", "nosniff")
	defer func() { // also when the connection is cut
		if s.Meter != nil {
			s.Meter.Answered(c.Request.Method, c.FullPath(), c.Writer.Status(), time.Since(began))
		}
		s.Log.InfoContext(c.Request.Context(), "request",
			"method", c.Request.Method, "route", c.FullPath(), "status", c.Writer.Status(), "ms", time.Since(began).Milliseconds(),
			"bytes", max(c.Writer.Size(), 0), "tenant", who.tenant, "peer", c.RemoteIP(), "request_id", who.request)
	}()
	c.Next()
}

// harmless is what an id may look like that goes into our log and back to the client.
var harmless = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

func requestID(given string) string {
	if harmless.MatchString(given) {
		return given
	}
	return rand.Text()
}

// recovered answers a panic as an internal error, unless part of the answer is out already: then
// the connection is cut, so that the client does not take the part for the whole.
func (s *server) recovered(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		s.Log.ErrorContext(c.Request.Context(), "panic", "value", v, "stack", string(debug.Stack()), "request_id", callerOf(c.Request.Context()).request)
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		s.fail(c, task.Errorf(task.Internal, "a panic"))
	}()
	c.Next()
}

// atHome keeps the pages of other sites out of an API that asks for no key: it listens on this machine
// alone, and a browser on this machine would let them in, by a name that they point here or by a form.
func (s *server) atHome(c *gin.Context) {
	if len(s.Keys) > 0 {
		return
	}
	origin := c.GetHeader("Origin")
	if from, err := url.Parse(origin); err != nil || !local(c.Request.Host) || origin != "" && !local(from.Host) {
		s.fail(c, task.Errorf(task.Forbidden, "without API keys the API is for this machine alone: call it as localhost or 127.0.0.1, or set LONGHAUL_API_KEYS"))
	}
}

// local reports whether a host, perhaps with a port, is this machine.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// authorised finds the tenant of a request's key. What is outside /v1 is for everyone: health,
// the description of the API and the pages; and so are the callbacks, which are believed in nothing.
func (s *server) authorised(c *gin.Context) {
	path := c.Request.URL.Path
	if !strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v1/callbacks/") {
		return
	}
	owner, err := s.owner(c.Request.Header)
	if err != nil {
		s.fail(c, err)
		return
	}
	callerOf(c.Request.Context()).tenant = owner
}

func (s *server) owner(h http.Header) (string, error) {
	if len(s.Keys) == 0 {
		return "default", nil
	}
	given := h.Get("X-API-Key")
	if scheme, key, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		given = strings.TrimSpace(key)
	}
	if given == "" {
		return "", task.Errorf(task.Unauthorized, "no key was sent; send it as Authorization: Bearer KEY")
	}
	found := ""
	for key, owner := range s.Keys { // all of them, so that the time does not tell which was near
		if subtle.ConstantTimeCompare([]byte(key), []byte(given)) == 1 {
			found = owner
		}
	}
	if found == "" {
		return "", task.Errorf(task.Unauthorized, "the key is not known here")
	}
	return found, nil
}

// plainQuery refuses a query that could be read in two ways: one that is not well-formed, or not text, and a
// parameter given twice. Only label may be repeated.
func (s *server) plainQuery(c *gin.Context) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		s.fail(c, task.Errorf(task.BadRequest, "the query is not well-formed; escape what is special in it"))
		return
	}
	for name, values := range query {
		if len(values) > 1 && name != "label" {
			s.fail(c, unfit(name, "is there %d times, and once is allowed", len(values)))
			return
		}
		if text := strings.Join(values, ""); !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			s.fail(c, unfit(name, "must be text in UTF-8 without control characters"))
			return
		}
	}
}

// headAsGet answers HEAD as GET; net/http leaves the body out.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.Clone(r.Context())
			r.Method = http.MethodGet
			r.Header.Del("Accept") // there is no head of a stream
		}
		next.ServeHTTP(w, r)
	})
}
