package task

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
)

// Error is a problem as RFC 9457 describes one. The same object is an HTTP error body, the error
// of a task and the error of an item. Everything in it may be shown to the tenant; the cause, for
// the log alone, is kept by Because and never marshalled.
type Error struct {
	Type      string       `json:"type"`
	Code      Code         `json:"code"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Step      string       `json:"step,omitempty"`
	Retryable bool         `json:"retryable" doc:"whether the same request may succeed later"`
	Attempts  int          `json:"attempts,omitempty"`
	Provider  *Provider    `json:"provider,omitempty"`
	Errors    []FieldError `json:"errors,omitempty"`
	Tries     []FailedTry  `json:"tries,omitempty" doc:"the last of the calls that failed"`
	cause     error
}

// Provider names the model provider's side of an error.
type Provider struct {
	Name      string `json:"name"`
	Status    int    `json:"status,omitempty"` // HTTP status; 0 when no answer came
	Code      string `json:"code,omitempty"`   // the provider's own
	RequestID string `json:"request_id,omitempty"`
}

// FieldError points at one place of a refused body.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON Pointer into the body, such as /input/documents/0/url
	Detail  string `json:"detail"`
}

// Code is the closed set of what can go wrong.
type Code string

// What a request can get wrong, or meet.
const (
	BadRequest   Code = "bad_request"
	Unauthorized Code = "unauthorized"
	Forbidden    Code = "forbidden"
	NotFound     Code = "not_found"
	NotAllowed   Code = "method_not_allowed"
	TooSlow      Code = "request_timeout"
	NotReady     Code = "not_ready"
	Conflict     Code = "conflict"
	Gone         Code = "gone"
	TooLarge     Code = "too_large"
	WrongMedia   Code = "unsupported_media_type"
	Invalid      Code = "invalid"
	KeyReused    Code = "idempotency_key_reused"
	TooMany      Code = "too_many_requests"
	Internal     Code = "internal"
	Unavailable  Code = "unavailable"
)

// What can be wrong with a document. None of these costs a model call.
const (
	RowInvalid          Code = "row_invalid"          // of a file of rows, a row that cannot be used
	DocumentEmpty       Code = "document_empty"       // zero bytes, or nothing but white space
	NoText              Code = "no_extractable_text"  // scanned pages: it needs OCR
	GarbledText         Code = "garbled_text"         // fonts that do not say what their glyphs mean
	PasswordRequired    Code = "password_required"    // encrypted
	DocumentBroken      Code = "document_broken"      // not what it claims to be
	DocumentUnsupported Code = "document_unsupported" // a format longhaul does not read
	DocumentTooLarge    Code = "document_too_large"   // over a size limit, which the detail names
	DocumentTooComplex  Code = "document_too_complex" // took too long, or too much memory, to read
	FetchBlocked        Code = "fetch_blocked"        // the address is not public
	FetchFailed         Code = "fetch_failed"         // the server did not give it
)

// What can be wrong with a model call.
const (
	ModelAuth        Code = "model_auth"              // key refused
	ModelQuota       Code = "model_quota_exhausted"   // no money or quota left
	ModelUnknown     Code = "model_not_found"         // no such model
	ModelRefused     Code = "model_request_refused"   // the provider calls the request bad
	ContentFiltered  Code = "content_filtered"        // refused for its content
	ContextExceeded  Code = "context_length_exceeded" // prompt longer than the model takes
	RateLimited      Code = "rate_limited"            // asked to come back later
	ModelUnavailable Code = "model_unavailable"       // overloaded, unreachable or broken
	AnswerIncomplete Code = "answer_incomplete"       // cut before its end
	BadResponse      Code = "bad_response"            // not an answer
)

// What can become of a job at a provider, beside what can be wrong with a call.
const (
	SubmissionUnknown Code = "submission_unknown" // it may have been started, and nobody can tell: a person decides
	RenderFailed      Code = "render_failed"      // it was started, and gave nothing
)

// How a task can end without what was asked for.
const (
	DeadlineExceeded Code = "deadline_exceeded"
	BudgetExceeded   Code = "budget_exceeded"
	TaskCancelled    Code = "cancelled"
	AllItemsFailed   Code = "all_items_failed"
	Terminated       Code = "terminated"    // ended from outside, in Temporal itself
	CanaryFailed     Code = "canary_failed" // of a bulk replay, one of the first failed again
)

// codes gives each code its title, its HTTP status, and whether trying again may help.
var codes = map[Code]struct {
	title     string
	status    int
	retryable bool
}{
	BadRequest:   {"The request is not well-formed", http.StatusBadRequest, false},
	Unauthorized: {"A valid API key is needed", http.StatusUnauthorized, false},
	Forbidden:    {"This may not be done from there", http.StatusForbidden, false},
	NotFound:     {"There is no such thing", http.StatusNotFound, false},
	NotAllowed:   {"This address does not take that method", http.StatusMethodNotAllowed, false},
	TooSlow:      {"The request came too slowly", http.StatusRequestTimeout, true},
	NotReady:     {"Not there yet", http.StatusConflict, true},
	Conflict:     {"The state does not allow this", http.StatusConflict, false},
	Gone:         {"It was there and has been removed", http.StatusGone, false},
	TooLarge:     {"The request is too large", http.StatusRequestEntityTooLarge, false},
	WrongMedia:   {"This content type is not understood", http.StatusUnsupportedMediaType, false},
	Invalid:      {"The request is not valid", http.StatusUnprocessableEntity, false},
	KeyReused:    {"The idempotency key belongs to another request", http.StatusUnprocessableEntity, false},
	TooMany:      {"Too many requests", http.StatusTooManyRequests, true},
	Internal:     {"Something went wrong on our side", http.StatusInternalServerError, true},
	Unavailable:  {"The service cannot answer at the moment", http.StatusServiceUnavailable, true},

	RowInvalid:          {"The row cannot be used", http.StatusUnprocessableEntity, false},
	DocumentEmpty:       {"The document is empty", http.StatusUnprocessableEntity, false},
	NoText:              {"The document has no text in it", http.StatusUnprocessableEntity, false},
	GarbledText:         {"The document's text cannot be read", http.StatusUnprocessableEntity, false},
	PasswordRequired:    {"The document is encrypted", http.StatusUnprocessableEntity, false},
	DocumentBroken:      {"The document is damaged", http.StatusUnprocessableEntity, false},
	DocumentUnsupported: {"The document's format is not supported", http.StatusUnprocessableEntity, false},
	DocumentTooLarge:    {"The document is too large", http.StatusUnprocessableEntity, false},
	DocumentTooComplex:  {"The document is too complex to read", http.StatusUnprocessableEntity, false},
	FetchBlocked:        {"The address may not be fetched", http.StatusUnprocessableEntity, false},
	FetchFailed:         {"The address could not be fetched", http.StatusBadGateway, true},

	ModelAuth:        {"The model provider refuses our key", http.StatusBadGateway, false},
	ModelQuota:       {"The model provider's account is used up", http.StatusBadGateway, false},
	ModelUnknown:     {"The model does not exist", http.StatusBadGateway, false},
	ModelRefused:     {"The model provider refuses the request", http.StatusBadGateway, false},
	ContentFiltered:  {"The model provider refuses the content", http.StatusBadGateway, false},
	ContextExceeded:  {"The text is too long for the model", http.StatusBadGateway, false},
	RateLimited:      {"The model provider asks to wait", http.StatusBadGateway, true},
	ModelUnavailable: {"The model provider does not answer", http.StatusBadGateway, true},
	AnswerIncomplete: {"The model's answer is not complete", http.StatusBadGateway, true},
	BadResponse:      {"The model's answer is not an answer", http.StatusBadGateway, true},

	SubmissionUnknown: {"It is not known whether the provider has the job", http.StatusBadGateway, false},
	RenderFailed:      {"The provider did not render it", http.StatusBadGateway, true},

	DeadlineExceeded: {"The deadline came first", http.StatusGatewayTimeout, false},
	BudgetExceeded:   {"The budget is used up", http.StatusPaymentRequired, false},
	TaskCancelled:    {"The task was cancelled", http.StatusConflict, false},
	AllItemsFailed:   {"Every item failed", http.StatusUnprocessableEntity, false},
	CanaryFailed:     {"The first replay failed again", http.StatusConflict, false},
	Terminated:       {"The task was ended from outside", http.StatusConflict, false},
}

// At says at which place of the request an error is, as a JSON Pointer. The detail says it too, for who reads nothing else.
func (e *Error) At(pointer string) *Error {
	e.Errors = []FieldError{{Pointer: pointer, Detail: e.Detail}}
	e.Detail = pointer + ": " + e.Detail
	return e
}

// Unfit refuses a request for one or more places in it: the detail tells the first, and that there are more. A pointer that begins with ? is a
// query parameter, any other one is a JSON Pointer into the body.
func Unfit(found []FieldError) *Error {
	if len(found) == 0 {
		return Errorf(Invalid, "the request is not valid")
	}
	err := Errorf(Invalid, "%s: %s", cmp.Or(found[0].Pointer, "the body"), found[0].Detail)
	if more := len(found) - 1; more > 0 {
		err.Detail = fmt.Sprintf("%s (and %d more, see errors)", err.Detail, more)
	}
	err.Errors = found
	return err
}

// Errorf makes an error of a code, with a detail that the tenant may read: what was wrong, the
// limit or field it met, and the way out.
func Errorf(code Code, format string, args ...any) *Error {
	info := codes[code]
	return &Error{
		Type: "urn:longhaul:error:" + string(code), Code: code, Title: info.title, Status: info.status,
		Detail: fmt.Sprintf(format, args...), Retryable: info.retryable,
	}
}

// Known reports whether a name is one of the codes, and so its message one of ours that may be shown.
func Known(name string) bool {
	_, ok := codes[Code(name)]
	return ok
}

// Because keeps what was behind an error for the log; errors.Is and errors.As see it, readers of
// the API never do.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error is the sentence for a log line: the detail without the cause.
func (e *Error) Error() string { return e.Title + ": " + e.Detail }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// AsError finds the Error in err. Anything else is Internal with a detail that tells nothing.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "an unexpected error; it was logged").Because(err)
}
