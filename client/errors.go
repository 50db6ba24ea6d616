package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"longhaul/internal/task"
)

// Error is a problem as RFC 9457 describes it. A call returns it, and a task, an item and a failure have the same type: Code says
// what went wrong, Title and Detail say it to a person, and Errors name fields of the request.
type Error = task.Error

// FieldError names a field of a refused request by JSON Pointer, such as /input/documents/0/url, or a query parameter as ?name.
type FieldError = task.FieldError

// Provider is what the model provider answered, in an Error about it.
type Provider = task.Provider

// Code is the kind of an Error. Which errors are worth a retry is in Error.Retryable.
type Code = task.Code

// NoAnswer is the one code that the API does not send: it could not be reached, the connection broke, or what answered is not
// longhaul, such as a proxy. The request may have been carried out. Status is 0.
const NoAnswer Code = "no_answer"

// Codes of refused requests.
const (
	BadRequest   = task.BadRequest
	Unauthorized = task.Unauthorized
	Forbidden    = task.Forbidden
	NotFound     = task.NotFound // also for what belongs to another tenant
	NotAllowed   = task.NotAllowed
	TooSlow      = task.TooSlow
	NotReady     = task.NotReady // the task still runs
	Conflict     = task.Conflict // the state of the task does not allow the request
	Gone         = task.Gone
	TooLarge     = task.TooLarge
	WrongMedia   = task.WrongMedia
	Invalid      = task.Invalid   // Errors name the fields
	KeyReused    = task.KeyReused // the idempotency key was used with another body
	TooMany      = task.TooMany
	Internal     = task.Internal
	Unavailable  = task.Unavailable
)

// Codes of documents and rows that cannot be read.
const (
	RowInvalid          = task.RowInvalid
	DocumentEmpty       = task.DocumentEmpty
	NoText              = task.NoText // scanned pages: they need OCR
	GarbledText         = task.GarbledText
	PasswordRequired    = task.PasswordRequired
	DocumentBroken      = task.DocumentBroken
	DocumentUnsupported = task.DocumentUnsupported
	DocumentTooLarge    = task.DocumentTooLarge
	DocumentTooComplex  = task.DocumentTooComplex
	FetchBlocked        = task.FetchBlocked // the address is not public
	FetchFailed         = task.FetchFailed
)

// Codes of failed model calls and provider jobs.
const (
	ModelAuth         = task.ModelAuth
	ModelQuota        = task.ModelQuota
	ModelUnknown      = task.ModelUnknown
	ModelRefused      = task.ModelRefused
	ContentFiltered   = task.ContentFiltered
	ContextExceeded   = task.ContextExceeded
	RateLimited       = task.RateLimited
	ModelUnavailable  = task.ModelUnavailable
	AnswerIncomplete  = task.AnswerIncomplete
	BadResponse       = task.BadResponse
	SubmissionUnknown = task.SubmissionUnknown // the provider may have the job: a person decides
	RenderFailed      = task.RenderFailed
)

// Codes of tasks that ended without what was asked for.
const (
	DeadlineExceeded = task.DeadlineExceeded
	BudgetExceeded   = task.BudgetExceeded
	TaskCancelled    = task.TaskCancelled
	AllItemsFailed   = task.AllItemsFailed
	Terminated       = task.Terminated   // from outside, in Temporal
	CanaryFailed     = task.CanaryFailed // one of the first tasks of a bulk replay failed again
)

// noAnswer is the error of a call that got no answer from longhaul: ctx's error if ctx has ended, else NoAnswer.
func (c *Client) noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &Error{
		Type: "urn:longhaul:error:" + string(NoAnswer), Code: NoAnswer, Title: "No answer from the API",
		Detail: fmt.Sprintf("%s: %v", c.base, err), Retryable: true,
	}
	return e.Because(err)
}

// refusal reads the error out of an answer.
func (c *Client) refusal(ctx context.Context, resp *http.Response) error {
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return task.Errorf(Invalid, "the range is not within the file (%s)", resp.Header.Get("Content-Range"))
	}
	const maxProblem = 1 << 20 // bytes
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return c.noAnswer(ctx, err)
	}
	var problem Error
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(text, &problem) != nil {
		return c.noAnswer(ctx, fmt.Errorf("HTTP %s from another program, such as a proxy", resp.Status))
	}
	return &problem
}

// transient reports whether the same request may succeed soon: no answer, or an error of the server.
func transient(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == NoAnswer || e.Status >= http.StatusInternalServerError)
}
