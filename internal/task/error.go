package task

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
)

// Error is a problem as defined by RFC 9457. It is the body of HTTP errors and the error of tasks and items. All of it
// may be shown to the tenant; the cause is only for the log and never marshalled, see Because.
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
	Tries     []FailedTry  `json:"tries,omitempty" doc:"the last failed calls"`
	cause     error
}

// Provider describes the response of the model provider.
type Provider struct {
	Name      string `json:"name"`
	Status    int    `json:"status,omitempty"` // HTTP status; 0 without response
	Code      string `json:"code,omitempty"`   // the provider's error code
	RequestID string `json:"request_id,omitempty"`
}

// FieldError is an error at one position of a refused body.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON Pointer into the body, such as /input/documents/0/url
	Detail  string `json:"detail"`
}

// Code identifies an error. The set is closed.
type Code string

// Errors of requests.
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

// Errors of documents. They cause no model call.
const (
	RowInvalid          Code = "row_invalid"          // an invalid row in a file of rows
	DocumentEmpty       Code = "document_empty"       // zero bytes, or only white space
	NoText              Code = "no_extractable_text"  // scanned pages that need OCR
	GarbledText         Code = "garbled_text"         // fonts without a mapping to characters
	PasswordRequired    Code = "password_required"    // encrypted
	DocumentBroken      Code = "document_broken"      // damaged, or not in the declared format
	DocumentUnsupported Code = "document_unsupported" // unsupported format
	DocumentTooLarge    Code = "document_too_large"   // over the size limit named in the detail
	DocumentTooComplex  Code = "document_too_complex" // took too long, or too much memory, to read
	FetchBlocked        Code = "fetch_blocked"        // the address is not public
	FetchFailed         Code = "fetch_failed"         // the server did not return the document
)

// Errors of model calls.
const (
	ModelAuth        Code = "model_auth"              // API key refused
	ModelQuota       Code = "model_quota_exhausted"   // no credit or quota left
	ModelUnknown     Code = "model_not_found"         // no such model
	ModelRefused     Code = "model_request_refused"   // request rejected by the provider
	ContentFiltered  Code = "content_filtered"        // content refused by the provider
	ContextExceeded  Code = "context_length_exceeded" // prompt over the context length
	RateLimited      Code = "rate_limited"            // rate limit of the provider
	ModelUnavailable Code = "model_unavailable"       // overloaded, unreachable or failing
	AnswerIncomplete Code = "answer_incomplete"       // truncated answer
	BadResponse      Code = "bad_response"            // invalid response
)

// Errors of jobs at a provider, in addition to the errors of calls.
const (
	SubmissionUnknown Code = "submission_unknown" // the job may have been started; a person must decide
	RenderFailed      Code = "render_failed"      // the job was started and produced no video
)

// Errors of tasks that end early.
const (
	DeadlineExceeded Code = "deadline_exceeded"
	BudgetExceeded   Code = "budget_exceeded"
	TaskCancelled    Code = "cancelled"
	AllItemsFailed   Code = "all_items_failed"
	Terminated       Code = "terminated"    // terminated in Temporal
	CanaryFailed     Code = "canary_failed" // one of the first replays of a bulk replay failed again
)

// codes maps each code to its title, HTTP status, and whether a retry may help.
var codes = map[Code]struct {
	title     string
	status    int
	retryable bool
}{
	BadRequest:   {"Malformed request", http.StatusBadRequest, false},
	Unauthorized: {"Missing or invalid API key", http.StatusUnauthorized, false},
	Forbidden:    {"Forbidden request", http.StatusForbidden, false},
	NotFound:     {"Resource not found", http.StatusNotFound, false},
	NotAllowed:   {"Method not allowed", http.StatusMethodNotAllowed, false},
	TooSlow:      {"Request timeout", http.StatusRequestTimeout, true},
	NotReady:     {"Resource not ready", http.StatusConflict, true},
	Conflict:     {"Conflict with the current state", http.StatusConflict, false},
	Gone:         {"Resource removed", http.StatusGone, false},
	TooLarge:     {"Request too large", http.StatusRequestEntityTooLarge, false},
	WrongMedia:   {"Unsupported content type", http.StatusUnsupportedMediaType, false},
	Invalid:      {"Invalid request", http.StatusUnprocessableEntity, false},
	KeyReused:    {"Reused idempotency key", http.StatusUnprocessableEntity, false},
	TooMany:      {"Too many requests", http.StatusTooManyRequests, true},
	Internal:     {"Internal error", http.StatusInternalServerError, true},
	Unavailable:  {"Service unavailable", http.StatusServiceUnavailable, true},

	RowInvalid:          {"Invalid row", http.StatusUnprocessableEntity, false},
	DocumentEmpty:       {"Empty document", http.StatusUnprocessableEntity, false},
	NoText:              {"Document without text", http.StatusUnprocessableEntity, false},
	GarbledText:         {"Unreadable document text", http.StatusUnprocessableEntity, false},
	PasswordRequired:    {"Encrypted document", http.StatusUnprocessableEntity, false},
	DocumentBroken:      {"Damaged document", http.StatusUnprocessableEntity, false},
	DocumentUnsupported: {"Unsupported document format", http.StatusUnprocessableEntity, false},
	DocumentTooLarge:    {"Document too large", http.StatusUnprocessableEntity, false},
	DocumentTooComplex:  {"Document too complex", http.StatusUnprocessableEntity, false},
	FetchBlocked:        {"Blocked address", http.StatusUnprocessableEntity, false},
	FetchFailed:         {"Failed download", http.StatusBadGateway, true},

	ModelAuth:        {"API key refused by the model provider", http.StatusBadGateway, false},
	ModelQuota:       {"Exhausted quota at the model provider", http.StatusBadGateway, false},
	ModelUnknown:     {"Unknown model", http.StatusBadGateway, false},
	ModelRefused:     {"Request refused by the model provider", http.StatusBadGateway, false},
	ContentFiltered:  {"Content refused by the model provider", http.StatusBadGateway, false},
	ContextExceeded:  {"Text too long for the model", http.StatusBadGateway, false},
	RateLimited:      {"Rate limit of the model provider", http.StatusBadGateway, true},
	ModelUnavailable: {"Model provider unavailable", http.StatusBadGateway, true},
	AnswerIncomplete: {"Incomplete response from the model", http.StatusBadGateway, true},
	BadResponse:      {"Invalid response from the model", http.StatusBadGateway, true},

	SubmissionUnknown: {"Unknown outcome of the submission", http.StatusBadGateway, false},
	RenderFailed:      {"Rendering failure", http.StatusBadGateway, true},

	DeadlineExceeded: {"Deadline exceeded", http.StatusGatewayTimeout, false},
	BudgetExceeded:   {"Budget exceeded", http.StatusPaymentRequired, false},
	TaskCancelled:    {"Task cancelled", http.StatusConflict, false},
	AllItemsFailed:   {"Failure of all items", http.StatusUnprocessableEntity, false},
	CanaryFailed:     {"Failure of the first replays", http.StatusConflict, false},
	Terminated:       {"Task terminated in Temporal", http.StatusConflict, false},
}

// At adds the JSON Pointer of the erroneous field, to Errors and to the detail.
func (e *Error) At(pointer string) *Error {
	e.Errors = []FieldError{{Pointer: pointer, Detail: e.Detail}}
	e.Detail = pointer + ": " + e.Detail
	return e
}

// Unfit returns the error for a request with one or more invalid fields: the detail names the first and the number of
// the others. A pointer that begins with ? names a query parameter; other pointers are JSON Pointers into the body.
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

// Errorf returns an error of a code. The detail is shown to the tenant: it names the subject, the field or limit, and
// the way out.
func Errorf(code Code, format string, args ...any) *Error {
	info := codes[code]
	return &Error{
		Type: "urn:longhaul:error:" + string(code), Code: code, Title: info.title, Status: info.status,
		Detail: fmt.Sprintf(format, args...), Retryable: info.retryable,
	}
}

// Known reports whether a name is a code of longhaul, so that its message may be shown.
func Known(name string) bool {
	_, ok := codes[Code(name)]
	return ok
}

// Because sets the cause. The log, errors.Is and errors.As see it; clients never do.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error returns title and detail, without the cause.
func (e *Error) Error() string { return e.Title + ": " + e.Detail }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns the Error in err. Any other error becomes Internal with a detail that reveals nothing.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "an unexpected error occurred; see the log").Because(err)
}
