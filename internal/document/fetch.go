package document

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"longhaul/internal/guard"
	"longhaul/internal/task"
)

// mostRedirects is how many times a server may point elsewhere.
const mostRedirects = 5

// FetchOptions configure a Fetcher. Zero fields take the defaults named beside them.
type FetchOptions struct {
	AllowPrivate []string      // what may be fetched besides public addresses on ports 80 and 443: host:port, host (any port), or CIDR
	MaxBytes     int64         // of a document after decompression; 64 MiB
	Timeout      time.Duration // for all of a fetch; 5 minutes
	IdleTimeout  time.Duration // without a byte; 30 seconds
	UserAgent    string        // "longhaul"
}

// Fetcher gets documents from the web, and only from there: every address that is dialled, after
// each redirect too, is checked at that moment. It is safe for concurrent use.
type Fetcher struct {
	options FetchOptions
	client  *http.Client
}

// Fetched is what a server said about a document.
type Fetched struct {
	URL         string // where it was in the end, without query and credentials
	Name        string // of the file, as the server or the address calls it; may be ""
	ContentType string // as declared; may be wrong, or ""
	Bytes       int64
}

// NewFetcher makes a Fetcher.
func NewFetcher(options FetchOptions) *Fetcher {
	options.MaxBytes = orElse(options.MaxBytes, 64<<20)
	options.Timeout = orElse(options.Timeout, 5*time.Minute)
	options.IdleTimeout = orElse(options.IdleTimeout, 30*time.Second)
	if options.UserAgent == "" {
		options.UserAgent = "longhaul"
	}
	transport := guard.Transport(options.AllowPrivate)
	transport.ResponseHeaderTimeout = options.IdleTimeout
	return &Fetcher{options: options, client: &http.Client{Transport: transport, CheckRedirect: checkRedirect}}
}

// Fetch writes the document at address to w. After an error w may hold a part of it.
//
// The error is ctx's own, an error of w, or a *task.Error: FetchBlocked is final; FetchFailed says
// itself whether another attempt may help; DocumentTooLarge names the limit.
func (f *Fetcher) Fetch(ctx context.Context, address string, w io.Writer) (Fetched, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Fetched{}, task.Errorf(task.FetchBlocked, "the address is not a URL")
	}
	if err := checkURL(u); err != nil {
		return Fetched{}, err
	}
	inner, cancel := context.WithTimeoutCause(ctx, f.options.Timeout,
		failed(u, true, "it took longer than the limit of %s", f.options.Timeout))
	defer cancel()
	got, err := f.get(inner, u, w)
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return Fetched{}, ctx.Err()
	case inner.Err() != nil:
		return Fetched{}, context.Cause(inner)
	}
	return Fetched{}, err
}

// get makes the request and copies the body.
func (f *Fetcher) get(ctx context.Context, u *url.URL, w io.Writer) (Fetched, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Fetched{}, task.Errorf(task.FetchBlocked, "the address is not a URL that can be fetched")
	}
	req.Header.Set("User-Agent", f.options.UserAgent)
	req.Header.Set("Accept", "*/*")
	resp, err := f.client.Do(req)
	if err != nil {
		return Fetched{}, transportError(u, err)
	}
	defer resp.Body.Close()
	final := resp.Request.URL
	if err := f.refuse(final, resp); err != nil {
		return Fetched{}, err
	}
	body := &patient{body: resp.Body, pause: f.options.IdleTimeout, timer: time.AfterFunc(f.options.IdleTimeout, cancel)}
	defer body.timer.Stop()
	n, err := f.copy(final, w, body)
	if err != nil {
		return Fetched{}, err
	}
	return Fetched{URL: shown(final), Name: fileName(resp), ContentType: resp.Header.Get("Content-Type"), Bytes: n}, nil
}

// refuse turns away a response whose body is not wanted.
func (f *Fetcher) refuse(u *url.URL, resp *http.Response) error {
	status := resp.StatusCode
	switch {
	case status != http.StatusOK:
		again := status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
		return failed(u, again, "it answered %d %s", status, http.StatusText(status))
	case resp.ContentLength > f.options.MaxBytes:
		return f.tooLarge(u)
	case resp.Header.Get("Content-Encoding") != "" && !resp.Uncompressed && !strings.EqualFold(resp.Header.Get("Content-Encoding"), "identity"):
		return failed(u, false, "it answered in an encoding nobody asked for")
	}
	return nil
}

// copy writes the body, at most one byte more than allowed, and tells whose fault an error is.
func (f *Fetcher) copy(u *url.URL, w io.Writer, body *patient) (int64, error) {
	out := &faultyWriter{w: w}
	n, err := io.Copy(out, io.LimitReader(body, f.options.MaxBytes+1))
	switch {
	case out.err != nil:
		return n, fmt.Errorf("keep a fetched document: %w", out.err)
	case body.late:
		return n, failed(u, true, "it sent nothing for %s", f.options.IdleTimeout)
	case err != nil:
		return n, transportError(u, err)
	case n > f.options.MaxBytes:
		return n, f.tooLarge(u)
	}
	return n, nil
}

func (f *Fetcher) tooLarge(u *url.URL) error {
	return task.Errorf(task.DocumentTooLarge, "%s is over the limit of %s", shown(u), size(f.options.MaxBytes))
}

// checkRedirect holds every hop to the rules of the first, and keeps the address of one from the next.
func checkRedirect(req *http.Request, via []*http.Request) error {
	req.Header.Del("Referer")
	if len(via) > mostRedirects {
		return failed(via[0].URL, false, "it redirects more than %d times", mostRedirects)
	}
	return checkURL(req.URL)
}

// checkURL refuses what is not a plain web address.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return task.Errorf(task.FetchBlocked, "only http and https addresses are fetched")
	case u.User != nil:
		return task.Errorf(task.FetchBlocked, "%s has a user name or password in its address; upload the file instead", shown(u))
	case u.Hostname() == "":
		return task.Errorf(task.FetchBlocked, "the address has no host")
	}
	return nil
}

func failed(u *url.URL, retryable bool, format string, args ...any) *task.Error {
	e := task.Errorf(task.FetchFailed, "%s: %s", shown(u), fmt.Sprintf(format, args...))
	e.Retryable = retryable
	return e
}

// transportError says what went wrong on the way; the guard's own verdicts pass unchanged.
func transportError(u *url.URL, err error) error {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return e
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the wrapping repeats the whole address
	}
	return failed(u, true, "%s", guard.Reason(err)).Because(err)
}

// shown is an address as errors may show it: queries and credentials often are secrets.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).Redacted()
}

// fileName is what the server calls the file, or else the end of its path: one element, printable,
// at most 200 bytes.
func fileName(resp *http.Response) string {
	name := ""
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
		name = params["filename"]
	}
	if name == "" {
		name = resp.Request.URL.Path
	}
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, name)
	if name == "." || name == "/" || name == ".." {
		return ""
	}
	const most = 200
	if len(name) > most {
		ext := path.Ext(name)
		ext = ext[:min(len(ext), 20)]
		name = name[:runeStart(name, most-len(ext))] + strings.ToValidUTF8(ext, "")
	}
	return name
}

// patient reads a body and runs a timer that each byte sets back.
type patient struct {
	body  io.Reader
	pause time.Duration
	timer *time.Timer
	late  bool // the timer had run out: the request is cancelled
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	p.late = !p.timer.Reset(p.pause) || p.late
	return n, err
}

// faultyWriter remembers an error of the writer under it.
type faultyWriter struct {
	w   io.Writer
	err error
}

func (f *faultyWriter) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err != nil {
		f.err = err
	}
	return n, err
}
