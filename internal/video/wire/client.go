package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"longhaul/internal/guard"
	"longhaul/internal/llm"
	"longhaul/internal/llm/openai"
	"longhaul/internal/video"
)

// Config describes one provider. Zero fields take the defaults named beside them.
type Config struct {
	Name    string // what errors call it; that of the dialect
	BaseURL string // with the version in its path, such as https://ark.cn-beijing.volces.com/api/v3
	Key     string `json:"-"` // sent as a bearer token; "" sends none
	Dialect string // one of Dialects; that of the base URL's host, or videos
	Profile string // what its errors mean, one of openai.Profiles; that of the dialect

	Timeout      time.Duration // of one call, but for a download; 2 minutes
	IdleTimeout  time.Duration // of a download without a byte; 1 minute
	MaxBytes     int64         // of a video; 512 MiB
	AllowPrivate []string      // where a video may be fetched from besides public addresses, as in guard.Transport
}

// String tells which provider it is, and never its key.
func (c Config) String() string { return fmt.Sprintf("provider %s at %s", c.Name, c.BaseURL) }

// GoString is String: %#v shows no key either.
func (c Config) GoString() string { return c.String() }

// LogValue is String for slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client is one provider. It is safe for concurrent use, and holds nothing but idle connections.
type Client struct {
	config  Config
	dialect Dialect
	base    *url.URL
	voice   openai.Voice
	api     *http.Client
	files   *http.Client
}

var _ video.Provider = (*Client)(nil)

// New makes a client. It sends nothing yet.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.BaseURL)
	if err != nil || base.Host == "" || !web(base) || base.User != nil || base.RawQuery != "" {
		return nil, errors.New("the provider's base URL must be a whole http or https address, without a user or a query, such as https://ark.cn-beijing.volces.com/api/v3")
	}
	dialect, ok := dialects[or(config.Dialect, dialectAt(base.Hostname()))]
	if !ok {
		return nil, fmt.Errorf("dialect %q is not known; it may be one of %v", config.Dialect, Dialects())
	}
	config.Name = or(config.Name, dialect.Name)
	config.Profile = or(config.Profile, dialect.Profile)
	if !slices.Contains(openai.Profiles(), config.Profile) {
		return nil, fmt.Errorf("profile %q is not known; it may be one of %v", config.Profile, openai.Profiles())
	}
	config.Timeout = or(config.Timeout, 2*time.Minute)
	config.IdleTimeout = or(config.IdleTimeout, time.Minute)
	config.MaxBytes = or(config.MaxBytes, 512<<20)
	c := &Client{
		config: config, dialect: dialect, base: base,
		voice: openai.Voice{Profile: config.Profile, Name: config.Name, Key: config.Key},
	}
	c.api = &http.Client{Transport: transport(), CheckRedirect: c.stay}
	guarded := guard.Transport(append([]string{hostPort(base)}, config.AllowPrivate...))
	guarded.ResponseHeaderTimeout = config.IdleTimeout
	c.files = &http.Client{Transport: guarded, CheckRedirect: c.follow}
	return c, nil
}

// String tells which provider it is, and never its key.
func (c *Client) String() string { return c.config.String() }

// GoString is String: %#v shows no key either.
func (c *Client) GoString() string { return c.config.String() }

// Start begins a job in exactly one HTTP request.
func (c *Client) Start(ctx context.Context, req video.Request) (video.Job, error) {
	body := c.dialect.Body(req)
	if req.Callback != "" && c.dialect.Callback != "" {
		body[c.dialect.Callback] = req.Callback
	}
	r := c.do(ctx, http.MethodPost, c.dialect.Create, body, req.Fence)
	if r.err != nil {
		return video.Job{}, r.doubt()
	}
	job, ok := c.read(r)
	if ok && job.ID != "" {
		return job.Job, nil
	}
	r.err = c.oddity(r)
	return video.Job{}, r.doubt()
}

// Status asks how a job stands.
func (c *Client) Status(ctx context.Context, id string) (video.Job, error) {
	r := c.do(ctx, http.MethodGet, c.path(c.dialect.Job, id), nil, "")
	if r.err == nil {
		if job, ok := c.read(r); ok && job.told() {
			job.ID = or(job.ID, id)
			return job.Job, nil
		}
		r.err = c.oddity(r)
	}
	return video.Job{}, r.passing()
}

// Cancel ends a job that has not begun. A provider that deletes finished jobs by the same request is asked
// first how the job stands.
func (c *Client) Cancel(ctx context.Context, id string) (video.Stop, error) {
	if !c.dialect.Cancels {
		return video.Unstoppable, nil
	}
	switch job, err := c.Status(ctx, id); {
	case err != nil:
		return "", err
	case job.State == video.Cancelled:
		return video.Stopped, nil
	case job.State.Final():
		return video.TooLate, nil
	case job.State != video.Queued:
		return video.Unstoppable, nil
	}
	r := c.do(ctx, http.MethodDelete, c.path(c.dialect.Job, id), nil, "")
	refused, ok := errors.AsType[*llm.Error](r.err)
	switch {
	case r.err == nil:
		return video.Stopped, nil
	case ok && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, refused.Status):
		return video.Unstoppable, nil // it began in between
	}
	return "", r.passing()
}

// path puts a job's id into a path.
func (c *Client) path(template, id string) string {
	return strings.ReplaceAll(template, "{id}", url.PathEscape(id))
}

// stay lets a call be redirected within the provider's own origin, when it has no body.
func (c *Client) stay(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet || len(via) >= 5 || !c.own(req.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// own reports whether an address is at the provider's own origin, to which alone the key goes.
func (c *Client) own(u *url.URL) bool {
	return u.Scheme == c.base.Scheme && strings.EqualFold(hostPort(u), hostPort(c.base))
}

func web(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// hostPort is where an address leads to, with the port in any case.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" && u.Scheme == "http" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), or(port, "443"))
}

// transport is for calls to the provider.
func transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
	}
}

// or gives value, or fallback when it is zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
