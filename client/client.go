package client

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"longhaul/internal/task"
)

// Version is the version of longhaul that this package belongs to.
const Version = task.Version

// Client calls one API. Its fields may be set before the first call.
type Client struct {
	// HTTP makes the requests; nil means a client without a time limit. A Timeout would cut watches and downloads: limit
	// single calls by their context instead.
	HTTP *http.Client
	// RetryDelay is the first delay before a watch repeats a failed request. It doubles up to 10 seconds; 0 means 500 ms.
	RetryDelay time.Duration
	// RetryFor is how long a watch repeats requests that fail in a row before it gives up; 0 means two minutes.
	RetryFor time.Duration
	// StreamTimeout is how long an event stream may send nothing before it counts as broken; 0 means 5 seconds for its
	// first line and 50 seconds after it. Larger values have no effect.
	StreamTimeout time.Duration

	base string
	key  string
}

// New returns a client of the API at an http or https address. The key is sent as a bearer token; "" sends none. New makes no
// request.
func New(address, key string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the API must be an http or https address, such as http://127.0.0.1:8080")
	}
	return &Client{base: strings.TrimRight(address, "/"), key: key}, nil
}
