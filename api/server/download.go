package server

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"longhaul/internal/storage"
)

// shownInline are the types a browser may show in place. Everything else, above all what can
// carry script, is saved instead.
var shownInline = []string{
	"text/plain", "text/markdown", "text/csv", "application/json", linesType,
	"application/pdf", "image/png", "image/jpeg", "image/webp", "video/mp4",
}

// download answers with an object's bytes, whole or a range of them.
func download(object *storage.Object, err error, name, contentType, tag string) (*stream, error) {
	if err != nil {
		return nil, err
	}
	return streaming(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Disposition", disposition(name, contentType))
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		serve(w, r, object, tag)
	}), nil
}

// serve writes an object and closes it. Without a tag of its own, size and time of writing tell
// one version from another.
func serve(w http.ResponseWriter, r *http.Request, object *storage.Object, tag string) {
	defer func() { _ = object.Close() }()
	if tag == "" {
		tag = fmt.Sprintf("%x-%x", object.Bytes, object.ModTime.UnixNano())
	}
	w.Header().Set("ETag", `"`+tag+`"`)
	w.Header().Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, r, "", object.ModTime, object)
}

// disposition names a download as RFC 6266 wants it: a plain name for old clients, and the real
// one in UTF-8.
func disposition(name, contentType string) string {
	how := "attachment"
	if media, _, err := mime.ParseMediaType(contentType); err == nil && slices.Contains(shownInline, media) {
		how = "inline"
	}
	name = strings.NewReplacer("/", "_", `\`, "_").Replace(name)
	return fmt.Sprintf(`%s; filename="%s"; filename*=UTF-8''%s`, how, strings.Map(plain, name), percent(name))
}

func plain(r rune) rune {
	if r < ' ' || r > '~' || strings.ContainsRune(`"%;`, r) {
		return '_'
	}
	return r
}

// percent escapes every byte that RFC 8187 does not allow in a value.
func percent(name string) string {
	const allowed = "!#$&+-.^_`|~"
	var b strings.Builder
	for _, c := range []byte(name) {
		alnum := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if alnum || strings.IndexByte(allowed, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
