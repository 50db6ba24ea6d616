package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/task"
)

// TestTaskPage shows single tasks, dead letters and the system in a real browser.
func TestTaskPage(t *testing.T) {
	t.Parallel()
	shared := browser(t)
	for name, test := range map[string]struct {
		change func(*server.Parts)
		see    func(w *window)
	}{
		"follows to the end":        {see: seeTaskEnd},
		"text as it is written":     {see: seeTextWritten},
		"items by page and state":   {see: seeItems},
		"only what can be done":     {see: seeButtons},
		"approve, deny, answer":     {see: seeReplies},
		"replay with overrides":     {see: seeReplay},
		"timeline and deliveries":   {see: seeTimeline},
		"video, with a key":         {change: withKey, see: seeVideo},
		"dead letters":              {see: seeDeadLetters},
		"system, with parts absent": {see: seeSystem},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.see(open(t, shared, test.change))
		})
	}
}

func seeTaskEnd(w *window) {
	id := w.start("default", nil)
	w.visit("/tasks/" + id)
	w.until("document.querySelector('.standing .state.pending')")
	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Progress = task.Processing, task.Progress{Percent: new(40), Step: "digest", StepIndex: 3, StepCount: 5}
		t.Waiting = &task.Waiting{Reason: "no_worker", Until: new(time.Now().Add(time.Hour))}
	})
	w.until("document.querySelector('.standing progress')?.value === 40")
	require.Contains(w.t, w.text(".standing"), "Step 4 of 5")
	require.Regexp(w.t, `Waits for a worker · in (59 min 5\d sec|1 hr)`, w.text(".standing"))
	w.until("document.querySelector('#said').textContent === 'Working, 40%'")
	w.tasks.Give(id, nil, map[string]string{"summary.md": "# Done"})
	w.tasks.Succeed(id, summaryResult, task.Partial)
	w.until("document.querySelector('#result .digest strong')?.innerText === 'deeper'")
	w.until("document.querySelector('#artifacts a[download=\"summary.md\"]')")
	require.Contains(w.t, w.text(".standing"), "Done in part")
	require.Equal(w.t, "# Done", eval[string](w, "fetch(document.querySelector('#artifacts a').href).then((a) => a.text())"))
}

func seeTextWritten(w *window) {
	id := w.start("default", nil)
	w.tasks.Change(id, func(t *task.Task) { t.Status = task.Processing })
	w.stub.write(id, `{"item":0,"offset":0,"text":"<b>One "}`, `{"item":0,"offset":7,"text":"two"}`, `{"item":0,"offset":7,"text":"two"}`, `{"item":1,"offset":0,"text":"old"}`)
	w.visit("/tasks/" + id)
	w.until("document.querySelectorAll('.writing').length === 2")
	w.stub.write(id, `{"item":1,"offset":0,"text":"new","restart":true}`)
	w.until("document.querySelectorAll('.writing')[1].textContent === 'new'")
	require.Equal(w.t, "<b>One two", eval[string](w, "document.querySelector('.writing').textContent"), "sent again is written once")
	w.tasks.Succeed(id, `{"documents":[]}`, task.Full)
	w.until("!document.querySelector('#live').checkVisibility()")
}

func seeItems(w *window) {
	id := w.kind("classify", nil)
	var items []task.Item
	for i := range 60 {
		items = append(items, task.Item{ID: fmt.Sprint(i), Index: i, Status: task.ItemSucceeded, Result: json.RawMessage(`{"label":"delivery","confidence":0.94}`)})
	}
	items[41] = task.Item{ID: "41", Index: 41, Status: task.ItemFailed, Error: task.Errorf(task.RowInvalid, "the row has no text")}
	w.tasks.Give(id, items, nil)
	w.tasks.Succeed(id, `{"rows":60,"succeeded":59,"failed":1,"seconds":3}`, task.Partial)
	w.visit("/tasks/" + id)
	const shown = "document.querySelectorAll('#items tbody tr').length"
	w.until(shown + " === 25")
	require.Contains(w.t, w.text("#items tbody tr"), "94%")
	w.click("#items .foot button:last-child")
	w.until("document.querySelector('#items tbody td').innerText.startsWith('26')")
	w.fill("#items select", "failed")
	w.until(shown + " === 1")
	require.Contains(w.t, w.text("#items tbody"), "The row cannot be used: the row has no text")
	require.Equal(w.t, 60, eval[int](w, "fetch(document.querySelector('#items a[download]').href).then((a) => a.text()).then((t) => t.trim().split('\\n').length)"))
}

func seeButtons(w *window) {
	id := w.start("default", nil)
	path := "/v1/tasks/" + id
	w.visit("/tasks/" + id)
	const names = "[...document.querySelectorAll('.actions > *')].map((b) => b.innerText).join()"
	w.until(names + " === 'Stop'")
	w.stub.add(id, map[string]any{"urls": map[string]any{"pause": path + "/pause", "resume": path + "/resume", "replay": path + "/replay"}})
	w.stub.can("POST "+path+"/pause", "{}")
	w.stub.can("POST "+path+"/resume", "{}")
	w.until(names + " === 'Pause,Stop'")
	w.click("#pause")
	w.until("document.querySelector('.toast')?.innerText.includes('pauses after')")
	w.tasks.Change(id, func(t *task.Task) { t.Status = task.Paused })
	w.until(names + " === 'Resume,Stop'")
	require.Contains(w.t, w.text(".standing"), "Paused")
	w.click("#resume")
	w.until("document.querySelectorAll('.toast').length === 2")
	require.Len(w.t, w.stub.bodies("POST "+path+"/resume"), 1)
	w.click("#cancel")
	w.until("document.querySelector('.state.cancelling') && " + names + " === ''")
	w.tasks.Change(id, func(t *task.Task) { t.Status, t.Outcome = task.Cancelled, task.None })
	w.until(names + " === 'Replay…'")
}

func seeReplies(w *window) {
	id := w.kind("agent", nil)
	ask := func(r task.InputRequest) {
		r.ID, r.ExpiresAt = "r1", time.Now().Add(time.Hour)
		w.tasks.Change(id, func(t *task.Task) {
			t.Status, t.InputRequests = task.InputRequired, map[string]task.InputRequest{"r1": r}
		})
		w.until("document.querySelector('.ask')")
	}
	told := func(what string) {
		w.until("document.querySelector('.standing').innerText.includes(`" + what + "`) && !document.querySelector('.ask')")
	}
	approval := task.InputRequest{Kind: "approval", Tool: "create_ticket", Arguments: json.RawMessage(`{"title":"Dredge"}`)}
	w.visit("/tasks/" + id)
	ask(approval)
	w.click(".ask button.main")
	told("approve")
	ask(approval)
	w.fill(".ask textarea.code", `{"title":"Dredge it"}`)
	w.click(".ask button.main")
	told(`approve {"title":"Dredge it"}`)
	ask(approval)
	w.fill(".ask .field + .field textarea", "not now")
	w.click(".ask button.danger")
	told("deny not now")
	ask(task.InputRequest{Kind: "question", Question: "Which?", Choices: []string{"Hamburg", "青岛"}})
	w.click(".choices button:last-child")
	told("answer 青岛")
	ask(task.InputRequest{Kind: "question", Question: "Why?"})
	w.fill(".ask textarea", "because")
	w.click(".ask button.main")
	told("answer because")
	w.click("details.card.minor summary")
	w.fill("details.card.minor textarea", "hurry up")
	w.click("details.card.minor button")
	told("message hurry up")
}

func seeReplay(w *window) {
	id, next := w.start("default", nil), w.start("default", nil)
	path := "/v1/tasks/" + id + "/replay"
	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Outcome, t.Error = task.Failed, task.None, task.Errorf(task.ModelAuth, "401")
	})
	w.stub.add(id, map[string]any{"urls": map[string]any{"replay": path}, "dead_letter": true})
	w.stub.can("GET /v1/dead-letters/"+id, `{"cause":"A bad key.","fix":"Set a good one.","failures":[{"fingerprint":"fp-1"}]}`)
	w.stub.can("POST "+path, `{"id":"`+next+`"}`)
	w.visit("/tasks/" + id)
	w.click("#replay")
	w.until("document.querySelector('.failure').innerText.includes('A bad key.')")
	require.Contains(w.t, w.text(".failure"), "Set a good one.")
	w.fill("#replay-model", "m-2")
	w.fill("#replay-input", `{"words":`)
	w.click("#replay-send")
	w.until("document.querySelector('dialog .note')?.innerText.includes('not JSON')")
	w.fill("#replay-input", `{"words":50}`)
	w.click("#replay-send")
	w.until("document.querySelector('#task-id')?.innerText === '" + next + "'")
	require.JSONEq(w.t, `{"scope":"failed","overrides":{"model":"m-2","input":{"words":50}}}`, w.stub.bodies("POST " + path)[0])
}

func seeTimeline(w *window) {
	id := w.start("default", nil)
	w.stub.add(id, map[string]any{"urls": map[string]any{"deliveries": "/v1/tasks/" + id + "/deliveries"}})
	w.visit("/tasks/" + id)
	w.click("#timeline summary")
	w.until("document.querySelector('#timeline li')?.innerText.includes('Accepted')")
	w.until("document.querySelector('.files')?.innerText.includes('it answered 500')")
	w.click(".files button")
	w.until("document.querySelector('.toast')?.innerText === 'It is sent again.'")
}

func seeVideo(w *window) {
	made, _, err := w.tasks.Create(w.ctx, task.Draft{Tenant: "acme", Kind: "video"})
	require.NoError(w.t, err)
	id := made.ID
	href := "/v1/tasks/" + id + "/artifacts/video-1.mp4"
	w.tasks.Give(id, nil, map[string]string{"video-1.mp4": "no film"})
	w.tasks.Succeed(id, `{"videos":[{"index":0,"status":"succeeded","prompt":"dusk","href":"`+href+`","artifact":"video-1.mp4","seconds":4},
		{"index":1,"status":"succeeded","prompt":"elsewhere","href":"https://evil.example/x.mp4"}]}`, task.Full)
	w.visit("/tasks/" + id)
	w.until("document.querySelector('#login')?.open")
	w.do(chromedp.SendKeys(chromedp.CSS("#key"), "sesame\r"))
	w.click("figure button")
	w.until("document.querySelector('figure video')?.src.startsWith('blob:')")
	require.Equal(w.t, 1, eval[int](w, "document.querySelectorAll('video').length"), "films of others are not loaded")
	w.forgive("401")
}

func seeDeadLetters(w *window) {
	dead, next := w.start("default", nil), w.start("default", nil)
	w.furnishRooms(dead)
	w.stub.can("POST /v1/dead-letters/"+dead+"/discard", "{}")
	w.stub.can("POST /v1/dead-letters/replay", `{"id":"`+next+`"}`)
	w.visit("/dead-letters")
	w.until("document.querySelectorAll('article').length === 2 && document.querySelectorAll('.group-card').length === 2")
	require.Contains(w.t, w.text(".group-card"), "Put a valid key into the configuration")
	w.click("article .danger")
	w.fill("#reason", "  ")
	w.click("#discard-send")
	w.fill("#reason", "the customer left")
	w.click("#discard-send")
	w.until("!document.querySelector('dialog')")
	require.Equal(w.t, []string{`{"reason":"the customer left"}`}, w.stub.bodies("POST /v1/dead-letters/"+dead+"/discard"))
	w.click(".group-card button")
	w.until("location.search === '?fingerprint=fp-1'")
	w.click("[role=tab]:nth-child(2)")
	w.until("location.search === '?status=replayed&fingerprint=fp-1'")
	w.click(".group-card .main")
	w.fill("#canary", "3")
	w.fill("#scope", "all")
	w.click("#replay-send")
	w.until("document.querySelector('#task-id')?.innerText === '" + next + "'")
	require.JSONEq(w.t, `{"fingerprint":"fp-1","scope":"all","canary":3}`, w.stub.bodies("POST /v1/dead-letters/replay")[0])
}

func seeSystem(w *window) {
	w.stub.can("GET /v1/system", `{"queues":[{"name":"llm","backlog":0,"oldest_seconds":0}],"lanes":[]}`)
	w.visit("/system")
	w.until("document.querySelector('#queues tbody tr')")
	require.Contains(w.t, w.text("#lanes"), "None.")
	require.False(w.t, eval[bool](w, "!!document.querySelector('#workers')"), "what the API does not tell is left out")
	require.Equal(w.t, 2, strings.Count(w.text(".figures"), "0"))
}
