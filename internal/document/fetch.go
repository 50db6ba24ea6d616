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

// mostRedirects is the maximum number of redirects.
const mostRedirects = 5

// FetchOptions configure a Fetcher. Zero fields take the defaults named beside them.
type FetchOptions struct {
	AllowPrivate []string      // allowed besides public addresses on ports 80 and 443: host:port, host (any port), or CIDR
	MaxBytes     int64         // document size after decompression; 64 MiB
	Timeout      time.Duration // whole fetch; 5 minutes
	IdleTimeout  time.Duration // longest time without a byte; 30 seconds
	UserAgent    string        // header; "longhaul"
}

// Fetcher downloads documents from the web. It checks every address when it dials, also after redirects, so that
// private addresses are not reached. It is safe for concurrent use.
type Fetcher struct {
	options FetchOptions
	client  *http.Client
}

// Fetched describes a downloaded document.
type Fetched struct {
	URL         string // final address, without query and credentials
	Name        string // file name from the server or the address; may be ""
	ContentType string // as declared; may be wrong or ""
	Bytes       int64
}

// NewFetcher returns a Fetcher.
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

// Fetch writes the document at address to w. After an error w may contain a part of it.
//
// The error is ctx.Err(), an error of w, or a *task.Error: FetchBlocked is final, FetchFailed says by Retryable
// whether a retry may help, DocumentTooLarge names the limit.
func (f *Fetcher) Fetch(ctx context.Context, address string, w io.Writer) (Fetched, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Fetched{}, task.Errorf(task.FetchBlocked, "the address is not a URL; use an http or https address")
	}
	if err := checkURL(u); err != nil {
		return Fetched{}, err
	}
	inner, cancel := context.WithTimeoutCause(ctx, f.options.Timeout,
		failed(u, true, "the download took longer than the limit of %s", f.options.Timeout))
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

// get sends the request and copies the body.
func (f *Fetcher) get(ctx context.Context, u *url.URL, w io.Writer) (Fetched, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Fetched{}, task.Errorf(task.FetchBlocked, "the address is not a valid URL; use an http or https address")
	}
	req.Header.Set("User-Agent", f.options.UserAgent)
	req.Header.Set("Accept", "*/*")
	resp, err := f.client.Do(req)
	if err != nil {
		return Fetched{}, transportError(u, err)
	}
	defer resp.Body.Close()
	final := resp.Request.URL
	if err := f.checkResponse(final, resp); err != nil {
		return Fetched{}, err
	}
	body := &idleReader{body: resp.Body, pause: f.options.IdleTimeout, timer: time.AfterFunc(f.options.IdleTimeout, cancel)}
	defer body.timer.Stop()
	n, err := f.copy(final, w, body)
	if err != nil {
		return Fetched{}, err
	}
	return Fetched{URL: shown(final), Name: fileName(resp), ContentType: resp.Header.Get("Content-Type"), Bytes: n}, nil
}

// checkResponse refuses a response by its status, length or encoding.
func (f *Fetcher) checkResponse(u *url.URL, resp *http.Response) error {
	status := resp.StatusCode
	switch {
	case status != http.StatusOK:
		again := status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
		return failed(u, again, "the server answered %d %s", status, http.StatusText(status))
	case resp.ContentLength > f.options.MaxBytes:
		return f.tooLarge(u)
	case resp.Header.Get("Content-Encoding") != "" && !resp.Uncompressed && !strings.EqualFold(resp.Header.Get("Content-Encoding"), "identity"):
		return failed(u, false, "the server answered in a content encoding that was not requested")
	}
	return nil
}

// copy writes the body, up to one byte over the limit, and tells writer, server and connection errors apart.
func (f *Fetcher) copy(u *url.URL, w io.Writer, body *idleReader) (int64, error) {
	out := &faultyWriter{w: w}
	n, err := io.Copy(out, io.LimitReader(body, f.options.MaxBytes+1))
	switch {
	case out.err != nil:
		return n, fmt.Errorf("write the fetched document: %w", out.err)
	case body.late:
		return n, failed(u, true, "the server sent nothing for %s", f.options.IdleTimeout)
	case err != nil:
		return n, transportError(u, err)
	case n > f.options.MaxBytes:
		return n, f.tooLarge(u)
	}
	return n, nil
}

func (f *Fetcher) tooLarge(u *url.URL) error {
	return task.Errorf(task.DocumentTooLarge, "%s is larger than the limit of %s; send a smaller document", shown(u), size(f.options.MaxBytes))
}

// checkRedirect applies checkURL to every redirect, and removes the Referer header so that no server learns the
// previous address.
func checkRedirect(req *http.Request, via []*http.Request) error {
	req.Header.Del("Referer")
	if len(via) > mostRedirects {
		return failed(via[0].URL, false, "the server redirects more often than the limit of %d", mostRedirects)
	}
	return checkURL(req.URL)
}

// checkURL refuses addresses that are not plain http or https.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return task.Errorf(task.FetchBlocked, "the address has the scheme %q; use http or https", u.Scheme)
	case u.User != nil:
		return task.Errorf(task.FetchBlocked, "%s contains a user name or password; upload the file instead", shown(u))
	case u.Hostname() == "":
		return task.Errorf(task.FetchBlocked, "the address has no host; use an http or https address")
	}
	return nil
}

func failed(u *url.URL, retryable bool, format string, args ...any) *task.Error {
	e := task.Errorf(task.FetchFailed, "%s: %s", shown(u), fmt.Sprintf(format, args...))
	e.Retryable = retryable
	return e
}

// transportError describes a connection error; a *task.Error from the guard passes unchanged.
func transportError(u *url.URL, err error) error {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return e
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the wrapper contains the whole address
	}
	return failed(u, true, "%s", guard.Reason(err)).Because(err)
}

// shown returns an address as errors may show it, without query and credentials, which are often secrets.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).Redacted()
}

// fileName returns the file name that the server gives, or the last element of the URL's path: printable, at most 200
// bytes.
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

// idleReader reads a body and resets an idle timer at each read.
type idleReader struct {
	body  io.Reader
	pause time.Duration
	timer *time.Timer
	late  bool // the timer has fired and cancelled the request
}

func (p *idleReader) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	p.late = !p.timer.Reset(p.pause) || p.late
	return n, err
}

// faultyWriter records an error of the underlying writer.
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
