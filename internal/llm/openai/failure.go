package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// failure is what a body says about an error, found in whatever shape it has.
type failure struct {
	told      bool   // the body does speak of an error
	message   string // raw: it has not been through scrub
	code      string
	kind      string // called type on the wire
	status    int    // an HTTP status inside the body; 0 when there is none
	requestID string
}

// names is one thing under the names that providers give it, in lower case, best first.
type names []string

var (
	messageNames = names{"message", "msg", "error_msg", "error_message", "errormessage", "html-message", "error_description", "detail", "details", "title"}
	codeNames    = names{"code", "error_code", "errorcode", "status_code"}
	kindNames    = names{"type", "status"}
	idNames      = names{"request_id", "requestid"}
)

// maxDepth is how far down an error's message is looked for.
const maxDepth = 6

// object is a JSON object with its keys in lower case.
type object map[string]json.RawMessage

// read finds the failure in a body. One that speaks of none is not told.
func read(body []byte) failure {
	o, ok := parse(body)
	if !ok {
		return failure{}
	}
	f := failure{requestID: o.text(idNames, maxDepth)}
	inner, known := o["error"]
	if meta, ok := parse(o["responsemetadata"]); ok && len(meta["error"]) > 0 {
		inner, known = meta["error"], true
		f.requestID = meta.text(idNames, maxDepth)
	}
	switch {
	case known && truthy(inner):
		f.told = true
		f.fill(inner)
	case o["choices"] == nil && o.text(messageNames, maxDepth) != "":
		f.told = true
	}
	f.fillFrom(o)
	return f
}

// fill takes what an error value says: an object, a sentence, or a list of either.
func (f *failure) fill(value json.RawMessage) {
	if o, ok := parse(value); ok {
		f.fillFrom(o)
		if raw := nested(o, "metadata", "raw"); raw != "" && !strings.Contains(f.message, raw) {
			f.message = strings.TrimSpace(f.message + " " + raw) // what the provider behind a relay said
		}
		return
	}
	f.message = words(value, maxDepth)
}

// fillFrom takes what an object says and was not said before.
func (f *failure) fillFrom(o object) {
	f.message = or(f.message, o.text(messageNames, maxDepth))
	f.code = or(f.code, f.word(o.text(codeNames, maxDepth)))
	f.kind = or(f.kind, f.word(o.text(kindNames, maxDepth)))
}

// word gives back what it is given unless that is an HTTP status, which it notes.
func (f *failure) word(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 400 || n > 599 {
		return text
	}
	f.status = or(f.status, int(n))
	return ""
}

// name is the provider's own word for the error: its code, or else its type.
func (f failure) name() string { return or(f.code, f.kind) }

// parse reads an object, or the first of a list of them.
func parse(data []byte) (object, bool) {
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte("[")) {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return nil, false
		}
		data = list[0]
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return nil, false
	}
	o := make(object, len(fields))
	for key, value := range fields {
		o[strings.ToLower(key)] = value
	}
	return o, true
}

// text gives the first of the names that has something to say. It looks deep levels down.
func (o object) text(any names, deep int) string {
	for _, name := range any {
		if text := words(o[name], deep); text != "" && text != "None" { // the None is a relay's, written in Python
			return text
		}
	}
	return ""
}

// nested gives the words under a path of keys.
func nested(o object, path ...string) string {
	for _, key := range path[:len(path)-1] {
		o, _ = parse(o[key])
	}
	return words(o[path[len(path)-1]], maxDepth)
}

// words puts any JSON value into words: a string is itself, an object is its message and where it
// applies, a list is its members, null is nothing. More than deep levels down it is left as it is.
func words(value json.RawMessage, deep int) string {
	value = bytes.TrimSpace(value)
	switch {
	case !truthy(value):
		return ""
	case deep == 0:
		return string(value)
	}
	switch value[0] {
	case '"':
		var text string
		_ = json.Unmarshal(value, &text) // cannot fail: the value comes out of valid JSON
		return strings.TrimSpace(text)
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list)
		said := make([]string, 0, len(list))
		for _, member := range list {
			said = append(said, words(member, deep-1))
		}
		return strings.Join(said, "; ")
	case '{':
		o, _ := parse(value)
		if message := o.text(messageNames, deep-1); message != "" {
			if place := where(o["loc"]); place != "" {
				return place + ": " + message
			}
			return message
		}
	}
	return string(value)
}

// where joins a place in a request, as validators give it.
func where(loc json.RawMessage) string {
	var path []json.RawMessage
	if json.Unmarshal(loc, &path) != nil {
		return ""
	}
	steps := make([]string, len(path))
	for i, step := range path {
		steps[i] = words(step, 1)
	}
	return strings.Join(steps, ".")
}

// truthy reports whether a value says something.
func truthy[V ~[]byte](value V) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// refusal reads an answer whose status is not 2xx.
func (x *exchange) refusal(res *http.Response) error {
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		return x.fail(llm.Final, task.ModelRefused,
			"the provider redirects to %s, which a request is not sent on to; set its base URL to the final address", to.Host)
	}
	x.hurry(afterFinish)
	body, err := io.ReadAll(io.LimitReader(&source{x, res.Body}, maxErrorBody)) // a part will do
	if x.caller.Err() != nil {
		return x.fault(err)
	}
	return x.said(x.complaint(body))
}

// complaint reads what is known to be an error, whatever it looks like.
func (x *exchange) complaint(body []byte) failure {
	f := read(body)
	if !f.told && f.message == "" {
		f.message = shorten(x.client.scrub.line(string(body), maxMessage), maxSnippet)
	}
	return f
}

// said turns a failure that the provider told of into the error of the call.
func (x *exchange) said(f failure) *llm.Error {
	verdict := x.client.profile.judge(x.status, f).heed(x.header.Get("X-Should-Retry"))
	message := x.client.scrub.line(f.message, maxMessage)
	message = or(message, or(http.StatusText(x.status), "status "+strconv.Itoa(x.status))+", and no reason given")
	e := x.fail(verdict.class, verdict.code, "%s", message)
	e.ProviderCode = x.client.scrub.line(f.name(), maxCode)
	e.RequestID = or(e.RequestID, x.client.scrub.line(f.requestID, maxCode))
	if verdict.class != llm.Final {
		e.RetryAfter, e.Tries = hint(x.header, f.message, x.client.profile.Zone), verdict.tries
	}
	if verdict.class == llm.Wait {
		e.RetryAfter = or(e.RetryAfter, or(verdict.wait, x.client.profile.Wait))
	}
	return e
}

// oddity is an answer with a good status that is not an answer.
func (x *exchange) oddity(body []byte) *llm.Error {
	switch text := string(body); {
	case len(body) == 0 || text == "null":
		return x.fail(llm.Retry, task.BadResponse, "the answer is empty")
	case markup(text):
		return x.fail(llm.Retry, task.BadResponse, "the answer is a web page, not JSON: %s", plain(text))
	default:
		if f := read(body); f.told {
			return x.said(f)
		}
		return x.fail(llm.Retry, task.BadResponse, "the answer is not JSON: %s", shorten(x.client.scrub.line(text, maxMessage), maxSnippet))
	}
}
