package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"longhaul/internal/document"
	"longhaul/internal/guard"
	"longhaul/internal/task"
)

// answer makes a result of a response. What is not 2xx is an error that the model sees with its text.
func (k *Kit) answer(ctx context.Context, t HTTPTool, resp *http.Response) (Result, error) {
	// A secret that straddles the limit must be whole to be found.
	most := int64(maxText + k.secrets.longest())
	data, lost := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if lost != nil && t.reads() {
		return Result{}, broken(resp.Request.URL, lost, true)
	}
	kind, label := mediaType(resp.Header.Get("Content-Type"), data)
	text, err := k.textOf(ctx, kind, label, data)
	if err != nil {
		text = err.Error()
	}
	r := Result{Text: text, ContentType: kind, Truncated: int64(len(data)) > most, IsError: err != nil}
	switch {
	case lost != nil:
		r.Text, r.IsError = fmt.Sprintf("It answered %s, so it has probably taken effect, but %s in the middle of the answer.\n\n%s",
			status(resp), guard.Reason(lost), text), true
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		r.Text, r.IsError = complaint(t, resp)+text, true
	case err != nil:
		r.Text = fmt.Sprintf("It answered %s. %s", status(resp), text)
	case text == "":
		r.Text, r.ContentType = fmt.Sprintf("It answered %s, without a text.", status(resp)), ""
	}
	return r, nil
}

func status(resp *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
}

// complaint is what is said before the text of an answer that is no success.
func complaint(t HTTPTool, resp *http.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "It answered %s.", status(resp))
	if wait := resp.Header.Get("Retry-After"); wait != "" && len(wait) < 64 {
		fmt.Fprintf(&b, " It asks to wait: Retry-After %s.", wait)
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
		fmt.Fprintf(&b, " It points to %s, and redirects of %s are not followed.", shown(to), t.method())
	}
	if resp.StatusCode >= 500 && !t.reads() {
		b.WriteString(" Whether it took effect is not known.")
	}
	b.WriteString("\n\n")
	return b.String()
}

// mediaType is the type of an answer, and the name of its encoding when that was told.
func mediaType(header string, data []byte) (kind, label string) {
	kind, params, err := mime.ParseMediaType(header)
	if err != nil && kind == "" {
		kind, params, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	return kind, params["charset"]
}

// declared is a type with its encoding, as a header has it.
func declared(kind, label string) string {
	if label == "" {
		return kind
	}
	return mime.FormatMediaType(kind, map[string]string{"charset": label})
}

// textOf is what an answer says. Its error is a failure.
func (k *Kit) textOf(ctx context.Context, kind, label string, data []byte) (string, error) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "", nil
	case kind == "text/html" || kind == "application/xhtml+xml":
		return k.page(ctx, kind, label, data)
	case !isText(kind) || bytes.IndexByte(data[:min(len(data), 4096)], 0) >= 0:
		return "", failed("The answer is %s of %s, which is no text; a document can be read with the tool fetch.", kind, bytesOf(len(data)))
	}
	if label != "" && !utf8.Valid(data) {
		if decoded, err := charset.NewReaderLabel(label, bytes.NewReader(data)); err == nil {
			if all, err := io.ReadAll(decoded); err == nil {
				data = all
			}
		}
	}
	return string(data), nil
}

func bytesOf(n int) string {
	if n > maxText {
		return fmt.Sprintf("more than %d bytes", maxText)
	}
	return fmt.Sprintf("%d bytes", n)
}

func isText(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript",
		"application/x-ndjson", "application/jsonl", "application/graphql", "application/sql", "application/x-www-form-urlencoded", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// page gets the text out of a web page that was received.
func (k *Kit) page(ctx context.Context, kind, label string, data []byte) (string, error) {
	text, err := k.read(ctx, func(w io.Writer) (document.Input, error) {
		_, err := w.Write(data)
		return document.Input{Name: "page.html", ContentType: declared(kind, label)}, err
	})
	if e, ok := errors.AsType[*task.Error](err); ok {
		return "", failed("The answer is a web page that cannot be read: %s.", e.Detail)
	}
	if err != nil {
		k.options.Log.Warn("web page of a tool not read", "error", err)
		return "", failed("The answer is a web page that could not be read this time.")
	}
	return text.Markdown, nil
}

// read has a document read, which write brings into the file that the reader gets, and tells the rest of.
func (k *Kit) read(ctx context.Context, write func(io.Writer) (document.Input, error)) (document.Text, error) {
	if k.options.Reader == nil {
		return document.Text{}, task.Errorf(task.Unavailable, "nothing here reads documents")
	}
	file, err := os.CreateTemp(k.options.Scratch, "tool-*")
	if err != nil {
		return document.Text{}, err
	}
	defer func() { _ = os.Remove(file.Name()) }() // what stays is swept with the folder
	in, err := write(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return document.Text{}, err
	}
	in.Path = file.Name()
	return k.options.Reader.Extract(ctx, in, nil)
}
