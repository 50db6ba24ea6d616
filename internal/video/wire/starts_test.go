package wire_test

import (
	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
)

// start is what a provider answers to a submit, and what is known then.
type start struct {
	dialect string // "" is ark
	reply   videotest.Reply
	err     *unstarted // nil is a job
}

type unstarted struct {
	class     llm.Class
	code      task.Code
	ambiguous bool // there may be a job
}

func no(class llm.Class, code task.Code) *unstarted { return &unstarted{class, code, false} }

func maybe(class llm.Class, code task.Code) *unstarted { return &unstarted{class, code, true} }

// starts are the ways in which a submit ends.
func starts() map[string]start {
	return map[string]start{
		"Ark: an id alone":                  {reply: says(`{"id":"j"}`)},
		"videos: a job":                     {dialect: "videos", reply: says(`{"id":"j","object":"video","status":"queued","progress":0}`)},
		"videos: task_id alone":             {dialect: "videos", reply: says(`{"task_id":"j","status":"queued"}`)},
		"new-api: task_id":                  {dialect: "newapi", reply: says(`{"task_id":"j","status":"queued"}`)},
		"new-api: in an envelope":           {dialect: "newapi", reply: says(`{"code":"success","data":{"task_id":"j"}}`)},
		"OpenRouter: accepted":              {dialect: "openrouter", reply: videotest.Fail(202, `{"id":"j","polling_url":"/api/v1/videos/j","status":"pending"}`)},
		"xAI: request_id":                   {dialect: "xai", reply: says(`{"request_id":"j"}`)},
		"a bad request":                     {reply: videotest.Refuse(400, "InvalidParameter", "duration"), err: no(llm.Final, task.ModelRefused)},
		"a bad key":                         {reply: videotest.Refuse(401, "AuthenticationError", "no"), err: no(llm.Final, task.ModelAuth)},
		"an account without money":          {reply: videotest.Refuse(403, "AccountOverdueError", "pay"), err: no(llm.Final, task.ModelQuota)},
		"new-api: no credit":                {dialect: "newapi", reply: videotest.Refuse(403, "insufficient_user_quota", "pay"), err: no(llm.Final, task.ModelQuota)},
		"no such model":                     {reply: videotest.Refuse(404, "InvalidEndpointOrModel.NotFound", "no model"), err: no(llm.Final, task.ModelUnknown)},
		"a prompt it does not like":         {reply: videotest.Refuse(400, "InputTextSensitiveContentDetected", "no"), err: no(llm.Final, task.ContentFiltered)},
		"an image it does not like":         {reply: videotest.Refuse(400, "InputImageRiskDetection", "no"), err: no(llm.Final, task.ContentFiltered)},
		"asked to slow down":                {reply: videotest.Refuse(429, "RateLimitExceeded.EndpointRPMExceeded", "slow"), err: no(llm.Wait, task.RateLimited)},
		"busy, in its words":                {reply: videotest.Refuse(503, "ServerOverloaded", "busy"), err: no(llm.Retry, task.ModelUnavailable)},
		"new-api: no channel":               {dialect: "newapi", reply: videotest.Refuse(503, "model_not_found", "no available channel"), err: no(llm.Retry, task.ModelUnknown)},
		"503 of a gateway":                  {reply: videotest.Fail(503, "upstream connect error"), err: maybe(llm.Retry, task.ModelUnavailable)},
		"502 of a gateway":                  {reply: videotest.Fail(502, "<html>Bad Gateway</html>"), err: maybe(llm.Retry, task.ModelUnavailable)},
		"504 of a gateway":                  {reply: videotest.Fail(504, "<html>Timeout</html>"), err: maybe(llm.Retry, task.ModelUnavailable)},
		"408":                               {reply: videotest.Fail(408, ""), err: maybe(llm.Retry, task.ModelUnavailable)},
		"500":                               {reply: videotest.Refuse(500, "InternalServiceError", "boom"), err: maybe(llm.Retry, task.ModelUnavailable)},
		"sent elsewhere":                    {reply: videotest.Fail(307, "").With("Location", "/elsewhere"), err: no(llm.Final, task.ModelRefused)},
		"the answer was lost":               {reply: videotest.Reply{Lost: true}, err: maybe(llm.Retry, task.ModelUnavailable)},
		"no answer in time":                 {reply: videotest.Reply{Delay: videotest.Forever}, err: maybe(llm.Retry, task.ModelUnavailable)},
		"a job without an id":               {reply: says(`{"status":"queued"}`), err: maybe(llm.Retry, task.BadResponse)},
		"a page":                            {reply: says(`<html>welcome</html>`), err: maybe(llm.Retry, task.BadResponse)},
		"nothing":                           {reply: says(``), err: maybe(llm.Retry, task.BadResponse)},
		"no money, behind a 200":            {dialect: "newapi", reply: says(`{"error":{"code":"insufficient_user_quota","message":"pay"}}`), err: no(llm.Final, task.ModelQuota)},
		"an error unheard of, behind a 200": {dialect: "newapi", reply: says(`{"error":{"code":"hm","message":"something"}}`), err: maybe(llm.Retry, task.BadResponse)},
	}
}
