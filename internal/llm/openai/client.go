package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	goopenai "github.com/sashabaranov/go-openai"

	"longhaul/internal/llm"
)

// Config describes one provider. A zero time means its default, a negative one means no limit.
type Config struct {
	Name    string // what errors and logs call it; "" means the name of the profile
	BaseURL string // with the version in its path, such as https://api.openai.com/v1
	Key     string `json:"-"` // sent as a bearer token; "" sends none
	Profile string // one of Profiles; "" means that of the base URL's host, or generic

	FirstByteTimeout time.Duration // until the first byte of the answer's body; 10 minutes
	IdleTimeout      time.Duration // between two bytes of it; 2 minutes
	ProgressTimeout  time.Duration // without any text although bytes come; 15 minutes
	TotalTimeout     time.Duration // of the whole call; no limit

	HTTP *http.Transport // nil means one of our own
	Log  *slog.Logger    // nil means slog.Default
}

// String tells which provider it is, and never its key.
func (c Config) String() string { return fmt.Sprintf("provider %s at %s", c.Name, c.BaseURL) }

// GoString is String: %#v shows no key either.
func (c Config) GoString() string { return c.String() }

// LogValue is String for slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client is one provider. It is safe for concurrent use, and holds nothing but idle connections and what
// refusals have taught it.
type Client struct {
	config  Config
	profile Profile
	wire    goopenai.ClientConfig
	http    *http.Client
	scrub   scrub
	learned learned
}

// New makes a client. It sends nothing yet; see Models for a check that does.
func New(config Config) (*Client, error) {
	base, ok := address(config.BaseURL)
	if !ok {
		return nil, errors.New("the provider's base URL must be a whole http or https address, without a user or a query, such as https://api.openai.com/v1")
	}
	profile, ok := profiles[or(config.Profile, profileAt(base.Hostname()))]
	if !ok {
		return nil, fmt.Errorf("profile %q is not known; it may be one of %v", config.Profile, Profiles())
	}
	config.Name = or(config.Name, profile.Name)
	config.FirstByteTimeout = or(config.FirstByteTimeout, 10*time.Minute)
	config.IdleTimeout = or(config.IdleTimeout, 2*time.Minute)
	config.ProgressTimeout = or(config.ProgressTimeout, 15*time.Minute)
	config.HTTP = or(config.HTTP, transport())
	config.Log = or(config.Log, slog.Default())

	wire := goopenai.DefaultConfig(config.Key)
	wire.BaseURL = config.BaseURL
	return &Client{
		config: config, profile: profile, wire: wire, scrub: scrub{key: config.Key},
		http: &http.Client{Transport: config.HTTP, CheckRedirect: redirect},
	}, nil
}

// address reads a base URL, and reports whether paths can be put behind it, and whether it can be shown.
func address(base string) (*url.URL, bool) {
	u, err := url.Parse(base)
	return u, err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.RawQuery == ""
}

// String tells which provider it is, and never its key.
func (c *Client) String() string { return c.config.String() }

// GoString is String: %#v shows no key either.
func (c *Client) GoString() string { return c.config.String() }

// Complete asks for one answer, always as a stream, in exactly one HTTP request.
func (c *Client) Complete(ctx context.Context, req llm.Request, onProgress func(llm.Progress)) (llm.Response, error) {
	x := c.open(ctx, c.profile.extras(req))
	defer x.close()
	x.key = req.IdempotencyKey
	if req.Schema != nil {
		if err := x.shape(&req); err != nil {
			return llm.Response{}, err
		}
	}
	if err := x.offer(req); err != nil {
		return llm.Response{}, err
	}
	x.extras["messages"] = c.profile.turns(req.Messages)
	for _, m := range req.Messages {
		x.prompt += utf8.RuneCountInString(m.Content)
	}
	stream, err := x.api().CreateChatCompletionStream(x.ctx, goopenai.ChatCompletionRequest{
		Model: req.Model, StreamOptions: &goopenai.StreamOptions{IncludeUsage: true},
	})
	if err != nil {
		return llm.Response{}, c.loosen(x.fault(err), x.form, req.Model)
	}
	defer func() { _ = stream.Close() }() // what was read of it is kept or not by then
	return x.collect(stream, onProgress)
}

// Models names the models that the provider offers. It costs nothing, so it also tells whether the
// provider can be reached and takes the key.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	x := c.open(ctx, nil)
	defer x.close()
	list, err := x.api().ListModels(x.ctx)
	if err != nil {
		return nil, x.fault(err)
	}
	names := make([]string, len(list.Models))
	for i, model := range list.Models {
		names[i] = model.ID
	}
	return names, nil
}

// transport is the default one without its own timeouts for answers (they are watched per call) and
// without compression, which would hold a stream back.
func transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
	}
}

// redirect lets only what has no body be sent elsewhere: a paid request goes where it was addressed.
func redirect(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet || len(via) >= 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

// or gives value, or fallback when it is zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
