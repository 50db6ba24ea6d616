package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// Content writes the video of a job to w: from the address that the provider told, or from where the dialect
// has it. A relay that tells an address which only itself can reach is asked for it, too.
func (c *Client) Content(ctx context.Context, job video.Job, w io.Writer) (video.Content, error) {
	usual := ""
	if c.dialect.Content != "" {
		usual = strings.TrimRight(c.config.BaseURL, "/") + c.path(c.dialect.Content, job.ID)
	}
	switch {
	case job.URL == "" && usual == "":
		return video.Content{}, c.gone(nil, "the provider says that the video is done, but not where it is")
	case job.URL == "":
		return c.download(ctx, usual, w)
	}
	content, err := c.download(ctx, job.URL, w)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == task.FetchBlocked && usual != "" {
		return c.download(ctx, usual, w)
	}
	return content, err
}

// download gets a video, within the limits of size and silence.
func (c *Client) download(ctx context.Context, address string, w io.Writer) (video.Content, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.config.IdleTimeout, func() { cancel(fmt.Errorf("it sent nothing for %s", c.config.IdleTimeout)) })
	defer silence.Stop()
	req, err := http.NewRequestWithContext(inner, http.MethodGet, address, nil)
	if err != nil {
		return video.Content{}, c.gone(nil, "the video is at an address that is none")
	}
	c.sign(req)
	res, err := c.files.Do(req)
	if err != nil {
		return video.Content{}, c.astray(ctx, inner, err)
	}
	defer res.Body.Close()
	body := &watched{body: res.Body, pause: c.config.IdleTimeout, silence: silence}
	if res.StatusCode != http.StatusOK {
		return video.Content{}, c.unfetched(res, body)
	}
	head := make([]byte, 16)
	n, err := io.ReadFull(body, head)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return video.Content{}, c.astray(ctx, inner, err)
	case !looks(head[:n], res.Header.Get("Content-Type")):
		return video.Content{}, c.pretender(res, head[:n], body)
	case res.ContentLength > c.config.MaxBytes:
		return video.Content{}, c.tooLarge(res)
	}
	return c.copy(ctx, inner, res, io.MultiReader(bytes.NewReader(head[:n]), body), w)
}

// copy writes the body, at most one byte more than allowed, and tells whose fault an error is.
func (c *Client) copy(ctx, inner context.Context, res *http.Response, body io.Reader, w io.Writer) (video.Content, error) {
	hash, out := sha256.New(), &faulty{w: w}
	n, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(body, c.config.MaxBytes+1))
	switch {
	case out.err != nil:
		return video.Content{}, fmt.Errorf("keep a video: %w", out.err)
	case err != nil:
		return video.Content{}, c.astray(ctx, inner, err)
	case n > c.config.MaxBytes:
		return video.Content{}, c.tooLarge(res)
	}
	return video.Content{Bytes: n, SHA256: hex.EncodeToString(hash.Sum(nil)), ContentType: contentType(res)}, nil
}

// looks reports whether a file with this beginning and this declared type may be a video: containers are known
// by their first bytes, and a page or a JSON is none whatever it is called.
func looks(head []byte, declared string) bool {
	start := bytes.TrimSpace(head)
	switch {
	case len(head) >= 8 && string(head[4:8]) == "ftyp", bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")):
		return true
	case len(start) == 0, strings.ContainsRune("{[<", rune(start[0])):
		return false
	}
	return strings.HasPrefix(declared, "video/") || declared == "application/octet-stream" || declared == ""
}

// contentType is that of a video, whatever the server says.
func contentType(res *http.Response) string {
	if declared, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); strings.HasPrefix(declared, "video/") {
		return declared
	}
	return "video/mp4"
}

func (c *Client) tooLarge(res *http.Response) error {
	e := c.voice.Oddity(res, "the video is over the limit of %d MiB", c.config.MaxBytes>>20)
	e.Class = llm.Final
	return e
}

// astray is the error of a connection that failed.
func (c *Client) astray(caller, inner context.Context, err error) error {
	if own := caller.Err(); own != nil {
		return own
	}
	if verdict, ok := errors.AsType[*task.Error](err); ok { // of the guard
		e := c.voice.Unreachable(verdict)
		e.Class, e.Code = llm.Final, verdict.Code
		e.Message = "the provider has put the video at an address that is not public; the operator can allow its host"
		return e
	}
	if inner.Err() != nil {
		err = context.Cause(inner)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address
	}
	e := c.voice.Unreachable(err)
	e.Message = strings.Replace(e.Message, "the provider cannot be reached", "the video cannot be fetched", 1)
	return e
}

// unfetched is the error of a status that is not 200. One that an address has when it is out of date says so.
func (c *Client) unfetched(res *http.Response, body io.Reader) error {
	said, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // a part will do
	e := c.voice.Refusal(res, said)
	moved := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone}
	switch {
	case slices.Contains(moved, res.StatusCode):
		return c.gone(res, fmt.Sprintf("the video cannot be fetched: its address answered %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
	case e.Class == llm.Final:
		e.Tries = 3
		e.Class = llm.Retry
	}
	return e
}

// gone is the error of a video that is not, or not yet, or not any more, where it should be.
func (c *Client) gone(res *http.Response, why string) error {
	if res == nil {
		res = &http.Response{}
	}
	e := c.voice.Oddity(res, "%s", why)
	e.Tries, e.Err = 3, video.ErrMoved
	return e
}

// pretender is the error of an answer that is no video although its status is good.
func (c *Client) pretender(res *http.Response, head []byte, body io.Reader) error {
	rest, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // a part will do
	said := append(bytes.Clone(head), rest...)
	if doc := parse(said); doc != nil && complains(doc) {
		e := c.voice.Refusal(res, said)
		e.Class, e.Tries = llm.Retry, 3
		return e
	}
	why := "what is at the address of the video is not one"
	if len(said) == 0 {
		why = "what is at the address of the video is empty"
	}
	return c.gone(res, why)
}

// follow lets a download be sent on, with the key to nobody but the provider. The guard looks at each address.
func (c *Client) follow(req *http.Request, via []*http.Request) error {
	req.Header.Del("Referer")
	req.Header.Del("Authorization")
	if len(via) > 5 || !web(req.URL) || req.URL.User != nil {
		return http.ErrUseLastResponse
	}
	c.sign(req)
	return nil
}

// watched is a body that each read of winds the alarm for.
type watched struct {
	body    io.Reader
	pause   time.Duration
	silence *time.Timer
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.silence.Reset(b.pause)
	return n, err
}

// faulty remembers an error of the writer under it.
type faulty struct {
	w   io.Writer
	err error
}

func (f *faulty) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err != nil {
		f.err = err
	}
	return n, err
}
