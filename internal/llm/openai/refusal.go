package openai

import (
	"fmt"
	"net/http"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// Voice judges and words what a provider says to a client of another wire than this one, by the same rules.
type Voice struct {
	Profile string // one of Profiles
	Name    string // of the provider, in errors
	Key     string `json:"-"` // never to be seen in them
}

// Refusal reads an answer that is an error, whatever its status and its body are.
func (v Voice) Refusal(res *http.Response, body []byte) *llm.Error {
	x := v.exchange(res)
	return x.said(x.complaint(body[:min(len(body), maxErrorBody)]))
}

// Oddity is the error of an answer with a good status that is not what was asked for.
func (v Voice) Oddity(res *http.Response, format string, args ...any) *llm.Error {
	return v.exchange(res).fail(llm.Retry, task.BadResponse, format, args...)
}

// Unreachable is the error of a request that no answer came to.
func (v Voice) Unreachable(err error) *llm.Error {
	e := v.exchange(nil).fail(llm.Retry, task.ModelUnavailable, "the provider cannot be reached: %s", placeless(err))
	e.Err = err
	return e
}

// String tells which provider it is, and never its key.
func (v Voice) String() string { return fmt.Sprintf("provider %s", v.Name) }

// GoString is String: %#v shows no key either.
func (v Voice) GoString() string { return v.String() }

// exchange is one that has been made, as far as judging it goes.
func (v Voice) exchange(res *http.Response) *exchange {
	x := &exchange{client: &Client{config: Config{Name: v.Name}, profile: profiles[v.Profile], scrub: scrub{key: v.Key}}, sent: true}
	if res != nil {
		x.status, x.header = res.StatusCode, res.Header
		x.requestID = x.client.scrub.line(requestID(res.Header), maxCode)
	}
	return x
}
