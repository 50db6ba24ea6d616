package openai

import (
	"net/http"
	"strings"
	"time"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// verdict says what a failure means for the next attempt.
type verdict struct {
	class llm.Class
	code  task.Code
	wait  time.Duration // before another try when the provider gives no hint; 0 leaves it to the profile
	tries int           // as in llm.Error
}

// after is the same verdict with a wait of its own.
func (v verdict) after(wait time.Duration) verdict {
	v.wait = wait
	return v
}

// The verdicts there are.
var (
	badKey      = verdict{class: llm.Final, code: task.ModelAuth}
	noMoney     = verdict{class: llm.Final, code: task.ModelQuota}
	noModel     = verdict{class: llm.Final, code: task.ModelUnknown}
	badRequest  = verdict{class: llm.Final, code: task.ModelRefused}
	badContent  = verdict{class: llm.Final, code: task.ContentFiltered}
	tooLong     = verdict{class: llm.Final, code: task.ContextExceeded}
	slowDown    = verdict{class: llm.Wait, code: task.RateLimited}
	unavailable = verdict{class: llm.Retry, code: task.ModelUnavailable}
	nonsense    = verdict{class: llm.Retry, code: task.BadResponse}
	maybeNone   = verdict{class: llm.Retry, code: task.ModelUnknown, tries: 2} // a relay that finds no way to a model at the moment
)

// exact are error codes and types whose meaning does not depend on the status they come with.
var exact = map[string]verdict{
	"insufficient_quota":                noMoney,
	"insufficient_user_quota":           noMoney,
	"pre_consume_token_quota_failed":    noMoney,
	"credit_balance_exhausted":          noMoney,
	"organization_spend_limit_exceeded": noMoney,
	"project_spend_limit_exceeded":      noMoney,
	"organization_usage_limit_exceeded": noMoney,
	"exceeded_current_quota_error":      noMoney,
	"billing_hard_limit_reached":        noMoney,
	"billing_not_active":                noMoney,
	"accountoverdueerror":               noMoney,
	"arrearage":                         noMoney,

	"invalid_api_key":                      badKey,
	"incorrect_api_key_error":              badKey,
	"account_deactivated":                  badKey,
	"unsupported_country_region_territory": badKey,

	"content_filter":                 badContent,
	"content_filter_error":           badContent,
	"content_policy_violation":       badContent,
	"responsibleaipolicyviolation":   badContent,
	"invalid_prompt":                 badContent,
	"image_content_policy_violation": badContent,
	"bio_policy":                     badContent,
	"datainspectionfailed":           badContent,
	"data_inspection_failed":         badContent,

	"context_length_exceeded":   tooLong,
	"exceed_context_size_error": tooLong,
	"string_above_max_length":   tooLong,

	"slow_down": slowDown,
}

// statuses are words that mean what an HTTP status means, for failures that come without one.
var statuses = map[string]int{
	"authentication_error":      401,
	"permission_error":          403,
	"permission_denied":         403,
	"not_found_error":           404,
	"invalid_request_error":     400,
	"badrequesterror":           400,
	"rate_limit_exceeded":       429,
	"rate_limit_error":          429,
	"rate_limit_reached_error":  429,
	"too_many_requests":         429,
	"resource_exhausted":        429,
	"server_error":              500,
	"internal_error":            500,
	"internal_server_error":     500,
	"internalservererror":       500,
	"overloaded_error":          503,
	"engine_overloaded_error":   503,
	"server_is_overloaded":      503,
	"service_unavailable_error": 503,
	"timeout":                   504,
}

// longPrompt are words of servers that have no code for a prompt which is too long.
var longPrompt = []string{
	"context length", "context_length", "context window", "context size", "maximum context", "prompt is too long", "input is too long",
}

// broke are words of servers that have no code of their own for an account without money.
var broke = []string{"balance", "quota", "credit", "overdue", "余额", "欠费", "额度"}

// judge weighs a failure: the profile's rules first, then codes that are always true, then what the
// message gives away, then the status.
func (p Profile) judge(status int, f failure) verdict {
	if status < 300 { // an error behind a good status
		status = or(f.status, or(statuses[strings.ToLower(f.code)], statuses[strings.ToLower(f.kind)]))
	}
	for _, r := range p.Rules {
		if r.fits(status, f) {
			return r.means
		}
	}
	for _, word := range []string{f.code, f.kind} {
		if v, ok := exact[strings.ToLower(word)]; ok {
			return v
		}
	}
	missing := strings.EqualFold(f.code, "model_not_found") || status == http.StatusNotFound && strings.Contains(strings.ToLower(f.message), "model")
	switch {
	case missing && status >= 500:
		return maybeNone
	case missing:
		return noModel
	case status == http.StatusForbidden && mentions(f.message, broke):
		return noMoney
	case status != http.StatusTooManyRequests && status < 502 && mentions(f.message, longPrompt):
		return tooLong
	}
	return byStatus(status)
}

// byStatus is the verdict when only the status is known; 0 is none.
func byStatus(status int) verdict {
	switch {
	case status == 0:
		return nonsense
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return badKey
	case status == http.StatusPaymentRequired:
		return noMoney
	case status == http.StatusRequestEntityTooLarge:
		return tooLong
	case status == http.StatusTooManyRequests:
		return slowDown
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return unavailable
	default:
		return badRequest
	}
}

// heed lets the provider's own word on trying again stand above ours.
func (v verdict) heed(shouldRetry string) verdict {
	switch {
	case shouldRetry == "false" && v.class == llm.Retry:
		v.class = llm.Final
	case shouldRetry == "true" && v == badRequest:
		v.class = llm.Retry
	}
	return v
}

func mentions(text string, any []string) bool {
	text = strings.ToLower(text)
	for _, phrase := range any {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}
