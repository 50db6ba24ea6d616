package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"longhaul/internal/guard"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// HTTPTool is a tool of the configuration that is a call to an address.
type HTTPTool struct {
	task.HTTPTool
	Approval task.Approval // what a task cannot make less strict
	Timeout  time.Duration // for all of a call; 0 means a minute
}

func (t HTTPTool) method() string {
	if t.Method == "" {
		return http.MethodGet
	}
	return t.Method
}

// reads reports whether a call changes nothing.
func (t HTTPTool) reads() bool {
	return t.method() == http.MethodGet || t.method() == http.MethodHead
}

// ours are headers that no tool sets: they say how the request is sent, or where.
var ours = []string{
	"Connection", "Content-Length", "Expect", "Host", "Idempotency-Key", "Keep-Alive", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Idempotency-Key",
}

// checkHTTP says what is wrong with a tool; the error is a fault.
func (k *Kit) checkHTTP(t task.HTTPTool) error {
	address, err := parseTemplate(t.URL)
	if err != nil {
		return fault{"/url", err.Error()}
	}
	if slices.Contains(builtinNames(), t.Name) {
		return fault{"/name", t.Name + " is the name of a builtin tool; choose another"}
	}
	if err := checkParameters(t.Parameters, address); err != nil {
		return err
	}
	if err := checkHeaders(t.Headers); err != nil {
		return fault{"/headers", err.Error()}
	}
	to, err := url.Parse(address.origin)
	if err != nil {
		return fault{"/url", "is not an address"}
	}
	if err := k.secrets.check(t.Headers, to); err != nil {
		return fault{"/headers", err.Error()}
	}
	return nil
}

// checkParameters makes sure that a schema is one, and knows the arguments that the address has places for.
func checkParameters(given map[string]any, address template) error {
	raw := parameters(given)
	if _, err := schema.Compile(raw); err != nil {
		return fault{"/parameters", "is not a JSON Schema: " + err.Error()}
	}
	var top struct {
		Type       any            `json:"type"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(raw, &top); err != nil || top.Type != "object" {
		return fault{"/parameters", `must be a JSON Schema with "type": "object"`}
	}
	for _, name := range address.places() {
		if _, known := top.Properties[name]; !known {
			return fault{"/url", fmt.Sprintf("has a place for {%s}, which is no property of the parameters", name)}
		}
	}
	return nil
}

func checkHeaders(headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return fmt.Errorf("%q is not the name of a header", name)
		case !httpguts.ValidHeaderFieldValue(headers[name]):
			return fmt.Errorf("the value of %s has characters that no header may have", name)
		case slices.Contains(ours, http.CanonicalHeaderKey(name)):
			return fmt.Errorf("%s is not for a tool to set; leave it out", name)
		}
	}
	return nil
}

// callConfigured calls a tool of the configuration as it is now. What was safe when the task began must be so still.
func (k *Kit) callConfigured(ctx context.Context, d Definition, call Call) (Result, error) {
	t, ok := k.http[d.Spec.Configured]
	if !ok || d.Safe && !t.reads() {
		return Result{}, failed("The tool %s is no longer there as it was when the task began; go on without it.", d.Name)
	}
	return k.callHTTP(ctx, t, call)
}

func (k *Kit) callHTTP(ctx context.Context, t HTTPTool, call Call) (Result, error) {
	timeout := t.Timeout
	if timeout <= 0 {
		timeout = time.Minute
	}
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var sent atomic.Bool
	inner = httptrace.WithClientTrace(inner, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := k.request(inner, t, call)
	if err != nil {
		return Result{}, err
	}
	client := http.Client{Transport: k.calls, CheckRedirect: redirects(req, t)}
	resp, err := client.Do(req)
	if err != nil {
		return Result{}, broken(req.URL, err, sent.Load())
	}
	defer resp.Body.Close()
	return k.answer(inner, t, resp)
}

// request makes the request of a call.
func (k *Kit) request(ctx context.Context, t HTTPTool, call Call) (*http.Request, error) {
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return nil, failed("The arguments must be a JSON object.")
	}
	address, err := parseTemplate(t.URL)
	if err != nil {
		return nil, failed("The address of %s %s.", t.Name, err)
	}
	u, err := address.fill(args)
	if err != nil {
		return nil, err
	}
	headers, err := k.secrets.fill(t.Headers, u)
	if err = errors.Join(err, k.secrets.serves(t.Headers, call.Tenant)); err != nil {
		return nil, failed("The call was not made: %s.", err)
	}
	body, err := place(t, u, args)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, t.method(), u.String(), body)
	if err != nil {
		return nil, failed("The arguments make no request.")
	}
	dress(req, body != nil, headers, call.ID)
	return req, nil
}

// dress puts the headers on a request; those of the tool come last, and win.
func dress(req *http.Request, hasBody bool, headers map[string]string, id string) {
	req.Header.Set("User-Agent", "longhaul")
	req.Header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.1")
	if hasBody {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	if id != "" {
		req.Header.Set("Idempotency-Key", id)
	}
}

// place puts the arguments that have no place in the address into its query or, where there is one, the body.
func place(t HTTPTool, u *url.URL, args map[string]json.RawMessage) (io.Reader, error) {
	if !t.reads() && t.method() != http.MethodDelete {
		body, err := json.Marshal(args)
		return bytes.NewReader(body), err
	}
	fixed, more := u.Query(), url.Values{}
	for name, raw := range args {
		if fixed.Has(name) {
			return nil, failed("The argument %s is set by the address itself; leave it out.", name)
		}
		more[name] = values(raw)
	}
	u.RawQuery = strings.Trim(u.RawQuery+"&"+more.Encode(), "&")
	return nil, nil
}

// values are a JSON value as a query has it: a list is one of each, an object is its JSON.
func values(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		var all []string
		for _, one := range list {
			all = append(all, written(one))
		}
		return all
	}
	if strings.TrimSpace(string(raw)) == "null" {
		return nil
	}
	return []string{written(raw)}
}

func written(raw json.RawMessage) string {
	if text, ok := scalar(raw); ok {
		return text
	}
	return string(raw)
}

// redirects follows a few for what only reads, and takes the tool's own headers off once another host is met: they are
// meant for the first. They stay off, as what comes after was another's idea.
func redirects(first *http.Request, t HTTPTool) func(*http.Request, []*http.Request) error {
	origin := func(u *url.URL) string { return u.Scheme + "://" + hostPort(u) }
	return func(req *http.Request, via []*http.Request) error {
		const most = 5
		switch {
		case !t.reads():
			return http.ErrUseLastResponse
		case len(via) > most:
			return failed("%s redirects more than %d times.", shown(first.URL), most)
		case req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.User != nil:
			return failed("%s redirects to what is not a plain web address.", shown(first.URL))
		}
		req.Header.Del("Referer")
		strayed := func(r *http.Request) bool { return origin(r.URL) != origin(first.URL) }
		if strayed(req) || slices.ContainsFunc(via, strayed) {
			for name := range t.Headers {
				req.Header.Del(name)
			}
			req.Header.Del("Idempotency-Key")
		}
		return nil
	}
}

// broken says why there is no answer. What was surely not sent is a failure, all else is not known.
func broken(u *url.URL, err error, sent bool) error {
	if told, ok := errors.AsType[failure](err); ok {
		return told
	}
	if refused, ok := errors.AsType[*task.Error](err); ok && refused.Code == task.FetchBlocked {
		return failed("%s may not be called: only public addresses on ports 80 and 443 may, and what the operator allows in tools.allow_private.", shown(u))
	}
	why := guard.Reason(err)
	if !sent {
		return failed("The call was not made: %s: %s.", shown(u), why)
	}
	return task.Errorf(task.Unavailable, "%s: %s after the call was sent; whether it took effect is not known", shown(u), why).
		Because(fmt.Errorf("%s: %w", why, bare(err)))
}

// shown is an address as a model or a log may see it.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
