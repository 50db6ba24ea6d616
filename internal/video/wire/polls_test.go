package wire_test

import (
	"maps"
	"net/http"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
	"longhaul/internal/video/videotest"
)

const cdn = "https://cdn.example.com/v.mp4?sig=1"

// poll is what a provider answers to the question how a job stands, and what that is in our words.
type poll struct {
	dialect string // "" is videos
	reply   videotest.Reply
	want    stand
	err     *refused
}

// stand is the part of a job that a poll is about. A progress of -1 is not told.
type stand struct {
	state    video.State
	strange  bool // the word is not understood
	progress int
	url      string
	class    llm.Class // of a failed job
	code     task.Code
	says     string
}

// refused is what an error must be. No error of a poll is final.
type refused struct {
	class   llm.Class
	code    task.Code
	missing bool // there is no such job, the provider says
}

func says(body string) videotest.Reply { return videotest.Fail(http.StatusOK, body) }

func is(state video.State) stand { return stand{state: state, progress: -1} }

func at(state video.State, progress int) stand { return stand{state: state, progress: progress} }

func done(url string) stand { return stand{state: video.Succeeded, progress: -1, url: url} }

func strange() stand { return stand{state: video.Running, strange: true, progress: -1} }

func failed(class llm.Class, code task.Code, says string) stand {
	return stand{state: video.Failed, progress: -1, class: class, code: code, says: says}
}

// polls are the words of the providers for how a job stands. The numbers are the rows of the list of robustness cases.
func polls() map[string]poll {
	all := map[string]poll{}
	for _, group := range []map[string]poll{arkPolls, relayPolls, otherPolls, progressPolls, brokenPolls} {
		maps.Copy(all, group)
	}
	return all
}

var arkPolls = map[string]poll{
	"Ark: queued":    {dialect: "ark", reply: says(`{"id":"j","model":"m","status":"queued","created_at":1790000000}`), want: is(video.Queued)},
	"Ark: running":   {dialect: "ark", reply: says(`{"id":"j","status":"running"}`), want: is(video.Running)},
	"Ark: succeeded": {dialect: "ark", reply: says(`{"id":"j","status":"succeeded","content":{"video_url":"` + cdn + `"},"usage":{"completion_tokens":9,"total_tokens":9}}`), want: done(cdn)},
	"Ark: cancelled": {dialect: "ark", reply: says(`{"id":"j","status":"cancelled"}`), want: is(video.Cancelled)},
	"Ark: expired": {
		dialect: "ark", reply: says(`{"id":"j","status":"expired"}`),
		want: failed(llm.Retry, task.ModelUnavailable, "expired"),
	},
	"Ark: failed for what it shows": {
		dialect: "ark", reply: says(`{"id":"j","status":"failed","error":{"code":"OutputVideoSensitiveContentDetected","message":"may contain sensitive information"}}`),
		want: failed(llm.Final, task.ContentFiltered, "sensitive information"),
	},
	"Ark: failed inside": {
		dialect: "ark", reply: says(`{"id":"j","status":"failed","error":{"code":"InternalServiceError","message":"boom"}}`),
		want: failed(llm.Retry, task.ModelUnavailable, "boom"),
	},
	"Ark: failed for money": {
		dialect: "ark", reply: says(`{"id":"j","status":"failed","error":{"code":"AccountOverdueError","message":"pay"}}`),
		want: failed(llm.Final, task.ModelQuota, "pay"),
	},
	"Ark: failed, as a list has it": {
		dialect: "ark", reply: says(`{"id":"j","status":"failed","failure_reason":{"code":"InputImageSensitiveContentDetected","message":"face"}}`),
		want: failed(llm.Final, task.ContentFiltered, "face"),
	},
	"Ark: failed without a reason": {
		dialect: "ark", reply: says(`{"id":"j","status":"failed","error":null}`),
		want: failed(llm.Retry, task.ModelUnavailable, "no reason"),
	},
}

var relayPolls = map[string]poll{
	"videos: queued":      {reply: says(`{"id":"j","object":"video","status":"queued","progress":0}`), want: at(video.Queued, 0)},
	"videos: in_progress": {reply: says(`{"id":"j","object":"video","status":"in_progress","progress":33}`), want: at(video.Running, 33)},
	"videos: completed":   {reply: says(`{"id":"j","object":"video","status":"completed","progress":100}`), want: at(video.Succeeded, 100)},
	"videos: failed for what it shows": {
		reply: says(`{"id":"j","status":"failed","error":{"code":"moderation_blocked","message":"Your request was blocked"}}`),
		want:  failed(llm.Final, task.ContentFiltered, "blocked"),
	},
	"videos: failed, in a sentence":         {reply: says(`{"id":"j","status":"failed","error":"生成内容违规"}`), want: failed(llm.Final, task.ContentFiltered, "违规")},
	"new-api: completed":                    {dialect: "newapi", reply: says(`{"task_id":"j","status":"completed","url":"` + cdn + `","metadata":{"duration":5}}`), want: done(cdn)},
	"new-api: failed":                       {dialect: "newapi", reply: says(`{"task_id":"j","status":"failed","error":{"code":500,"message":"upstream"}}`), want: failed(llm.Retry, task.ModelUnavailable, "upstream")},
	"new-api: unknown":                      {reply: says(`{"id":"j","status":"unknown"}`), want: strange()},
	"new-api: SUCCESS, 100%, task_id alone": {reply: says(`{"task_id":"j","status":"SUCCESS","progress":"100%"}`), want: at(video.Succeeded, 100)},
	"new-api: its address in result_url":    {reply: says(`{"id":"j","status":"completed","result_url":"` + cdn + `"}`), want: done(cdn)},
	"new-api: its address where a reason of failure would be": {
		dialect: "newapi", reply: says(`{"code":"success","message":"","data":{"task_id":"j","status":"SUCCESS","progress":"100%","fail_reason":"` + cdn + `"}}`),
		want: stand{state: video.Succeeded, progress: 100, url: cdn},
	},
	"new-api: in an envelope": {
		dialect: "newapi", reply: says(`{"code":"success","data":{"task_id":"j","status":"IN_PROGRESS","progress":"45%"}}`),
		want: at(video.Running, 45),
	},
	"new-api: FAILURE in an envelope": {
		dialect: "newapi", reply: says(`{"code":"success","data":{"task_id":"j","status":"FAILURE","fail_reason":"content policy violation"}}`),
		want: failed(llm.Final, task.ContentFiltered, "policy"),
	},
	"new-api: NOT_START": {dialect: "newapi", reply: says(`{"code":"success","data":{"task_id":"j","status":"NOT_START"}}`), want: is(video.Queued)},
	"a relay: its address is a path": {
		reply: says(`{"id":"j","status":"completed","url":"/v1/videos/j/content"}`), want: done("OWN/v1/videos/j/content"),
	},
}

var otherPolls = map[string]poll{
	"OpenRouter: pending":   {dialect: "openrouter", reply: says(`{"id":"j","polling_url":"/api/v1/videos/j","status":"pending"}`), want: is(video.Queued)},
	"OpenRouter: completed": {dialect: "openrouter", reply: says(`{"id":"j","status":"completed","unsigned_urls":["` + cdn + `"],"usage":{"cost":0.5}}`), want: done(cdn)},
	"OpenRouter: expired":   {dialect: "openrouter", reply: says(`{"id":"j","status":"expired"}`), want: failed(llm.Retry, task.ModelUnavailable, "expired")},
	"xAI: pending":          {dialect: "xai", reply: says(`{"status":"pending"}`), want: is(video.Queued)},
	"xAI: done":             {dialect: "xai", reply: says(`{"status":"done","video":{"url":"` + cdn + `","duration":8}}`), want: done(cdn)},
	"DashScope: RUNNING":    {reply: says(`{"request_id":"r","output":{"task_id":"j","task_status":"RUNNING"}}`), want: is(video.Running)},
	"DashScope: SUCCEEDED":  {reply: says(`{"request_id":"r","output":{"task_id":"j","task_status":"SUCCEEDED","video_url":"` + cdn + `"}}`), want: done(cdn)},
	"DashScope: FAILED": {
		reply: says(`{"output":{"task_id":"j","task_status":"FAILED","code":"DataInspectionFailed","message":"inappropriate"}}`),
		want:  failed(llm.Final, task.ContentFiltered, "inappropriate"),
	},
	"DashScope: CANCELED": {reply: says(`{"output":{"task_id":"j","task_status":"CANCELED"}}`), want: is(video.Cancelled)},
	"DashScope: UNKNOWN":  {reply: says(`{"output":{"task_id":"j","task_status":"UNKNOWN"}}`), want: strange()},
	"GLM: PROCESSING":     {reply: says(`{"model":"m","request_id":"r","task_status":"PROCESSING"}`), want: is(video.Running)},
	"GLM: SUCCESS":        {reply: says(`{"task_status":"SUCCESS","video_result":[{"url":"` + cdn + `","cover_image_url":"https://cdn.example.com/c.png"}]}`), want: done(cdn)},
	"GLM: FAIL":           {reply: says(`{"task_status":"FAIL"}`), want: failed(llm.Retry, task.ModelUnavailable, "no reason")},
	"Qianfan: queueing":   {reply: says(`{"id":"as-1","task_id":"j","status":"queueing"}`), want: is(video.Queued)},
	"Qianfan: success":    {reply: says(`{"task_id":"j","status":"success","creations":[{"url":"` + cdn + `"}]}`), want: done(cdn)},
	"Qianfan: succeed": {
		reply: says(`{"code":0,"data":{"task_id":"j","task_status":"succeed","task_result":{"videos":[{"id":"1","url":"` + cdn + `"}]}}}`), want: done(cdn),
	},
	"Qianfan: Terminated": {reply: says(`{"task_id":"j","status":"Terminated"}`), want: is(video.Cancelled)},
	"Kling: submitted":    {reply: says(`{"code":0,"data":{"task_id":"j","task_status":"submitted"}}`), want: is(video.Queued)},
	"Kling: failed": {
		reply: says(`{"code":0,"data":{"task_id":"j","task_status":"failed","task_status_msg":"risk control"}}`),
		want:  failed(llm.Final, task.ContentFiltered, "risk control"),
	},
	"kie: generating":     {reply: says(`{"code":200,"data":{"taskId":"j","state":"generating"}}`), want: is(video.Running)},
	"MiniMax: Queueing":   {reply: says(`{"task_id":"j","status":"Queueing"}`), want: is(video.Queued)},
	"MiniMax: Preparing":  {reply: says(`{"task_id":"j","status":"Preparing"}`), want: is(video.Queued)},
	"MiniMax: Processing": {reply: says(`{"task_id":"j","status":"Processing"}`), want: is(video.Running)},
	"MiniMax: Fail":       {reply: says(`{"task_id":"j","status":"Fail"}`), want: failed(llm.Retry, task.ModelUnavailable, "no reason")},
	"a state that nobody knows": {
		reply: says(`{"id":"j","status":"marinating","progress":7}`), want: stand{state: video.Running, strange: true, progress: 7},
	},
	"an envelope that says success": {reply: says(`{"status":"success","data":{"status":"processing","id":"j"}}`), want: is(video.Running)},
	"an address and no state":       {reply: says(`{"id":"j","video_url":"` + cdn + `"}`), want: done(cdn)},
	"an address before the end":     {reply: says(`{"id":"j","status":"running","url":"` + cdn + `"}`), want: is(video.Running)},
	"an address that is none":       {reply: says(`{"id":"j","status":"completed","url":"javascript:alert(1)"}`), want: is(video.Succeeded)},
}

var progressPolls = map[string]poll{
	"progress as a number":   {reply: says(`{"id":"j","status":"running","progress":45}`), want: at(video.Running, 45)},
	"progress in per cent":   {reply: says(`{"id":"j","status":"running","progress":"45%"}`), want: at(video.Running, 45)},
	"progress as a share":    {reply: says(`{"id":"j","status":"running","progress":0.45}`), want: at(video.Running, 45)},
	"progress of too much":   {reply: says(`{"id":"j","status":"running","progress":145}`), want: at(video.Running, 100)},
	"progress below nothing": {reply: says(`{"id":"j","status":"running","progress":-1}`), want: at(video.Running, 0)},
	"progress in words":      {reply: says(`{"id":"j","status":"running","progress":"nearly"}`), want: is(video.Running)},
	"progress null":          {reply: says(`{"id":"j","status":"running","progress":null}`), want: is(video.Running)},
}

var brokenPolls = map[string]poll{
	"500":                     {reply: videotest.Refuse(500, "internal_error", "boom"), err: &refused{class: llm.Retry, code: task.ModelUnavailable}},
	"502 with a page":         {reply: videotest.Fail(502, "<html>Bad Gateway</html>"), err: &refused{class: llm.Retry, code: task.ModelUnavailable}},
	"429":                     {reply: videotest.Refuse(429, "rate_limit_exceeded", "slow"), err: &refused{class: llm.Wait, code: task.RateLimited}},
	"401":                     {reply: videotest.Refuse(401, "invalid_api_key", "no"), err: &refused{class: llm.Retry, code: task.ModelAuth}},
	"402":                     {reply: videotest.Refuse(402, "", "pay"), err: &refused{class: llm.Retry, code: task.ModelQuota}},
	"404 in its words":        {reply: videotest.Refuse(404, "ResourceNotFound", "no such task"), err: &refused{class: llm.Retry, code: task.ModelRefused, missing: true}},
	"404 of a gateway":        {reply: videotest.Fail(404, "<html>not here</html>"), err: &refused{class: llm.Retry, code: task.ModelRefused}},
	"400 task_not_exist":      {dialect: "newapi", reply: videotest.Fail(400, `{"code":"task_not_exist","message":"task_not_exist","data":null}`), err: &refused{class: llm.Retry, code: task.ModelRefused, missing: true}},
	"an error behind a 200":   {reply: says(`{"error":{"code":"x","message":"try later"}}`), err: &refused{class: llm.Retry, code: task.BadResponse}},
	"not JSON":                {reply: says(`welcome`), err: &refused{class: llm.Retry, code: task.BadResponse}},
	"nothing":                 {reply: says(``), err: &refused{class: llm.Retry, code: task.BadResponse}},
	"no job":                  {reply: says(`{"ok":true}`), err: &refused{class: llm.Retry, code: task.BadResponse}},
	"an id and no state":      {reply: says(`{"id":"j"}`), err: &refused{class: llm.Retry, code: task.BadResponse}},
	"the connection was lost": {reply: videotest.Reply{Lost: true}, err: &refused{class: llm.Retry, code: task.ModelUnavailable}},
}
