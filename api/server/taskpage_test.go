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
	w.Visit("/tasks/" + id)
	w.Until("document.querySelector('.standing .state.pending')")
	require.NotContains(w.T, w.Text(".standing"), "Step", "a task that has not begun is at no step")
	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Progress = task.Processing, task.Progress{Percent: new(40), Step: "digest", StepIndex: 4, StepCount: 5}
		t.Waiting = &task.Waiting{Reason: "no_worker", Until: new(time.Now().Add(time.Hour))}
	})
	w.Until("document.querySelector('.standing progress')?.value === 40")
	require.Contains(w.T, w.Text(".standing"), "Step 4 of 5", "the first step is 1, as the workflow counts")
	require.Regexp(w.T, `Waits for a worker · in (59 min 5\d sec|1 hr)`, w.Text(".standing"))
	w.Until("document.querySelector('#said').textContent === 'Working, 40%'")
	w.tasks.Give(id, nil, map[string]string{"summary.md": "# Done"})
	w.tasks.Succeed(id, summaryResult, task.Partial)
	w.Until("document.querySelector('#result .digest strong')?.innerText === 'deeper'")
	w.Until("document.querySelector('#artifacts a[download=\"summary.md\"]')")
	require.Contains(w.T, w.Text(".standing"), "Done in part")
	require.Equal(w.T, "# Done", eval[string](w, "fetch(document.querySelector('#artifacts a').href).then((a) => a.text())"))
}

func seeTextWritten(w *window) {
	id := w.start("default", nil)
	w.tasks.Change(id, func(t *task.Task) { t.Status = task.Processing })
	w.stub.write(id, `{"item":0,"offset":0,"text":"<b>One "}`, `{"item":0,"offset":7,"text":"two"}`, `{"item":0,"offset":7,"text":"two"}`, `{"item":1,"offset":0,"text":"old"}`)
	w.Visit("/tasks/" + id)
	w.Until("document.querySelectorAll('.writing').length === 2")
	w.stub.write(id, `{"item":1,"offset":0,"text":"new","restart":true}`)
	w.Until("document.querySelectorAll('.writing')[1].textContent === 'new'")
	require.Equal(w.T, "<b>One two", eval[string](w, "document.querySelector('.writing').textContent"), "sent again is written once")
	w.tasks.Succeed(id, `{"documents":[]}`, task.Full)
	w.Until("!document.querySelector('#live').checkVisibility()")
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
	w.Visit("/tasks/" + id)
	const shown = "document.querySelectorAll('#items tbody tr').length"
	w.Until(shown + " === 25")
	require.Contains(w.T, w.Text("#items tbody tr"), "94%")
	w.Click("#items .foot button:last-child")
	w.Until("document.querySelector('#items tbody td').innerText.startsWith('26')")
	w.Fill("#items select", "failed")
	w.Until(shown + " === 1")
	require.Contains(w.T, w.Text("#items tbody"), "Invalid row: the row has no text")
	require.Equal(w.T, 60, eval[int](w, "fetch(document.querySelector('#items a[download]').href).then((a) => a.text()).then((t) => t.trim().split('\\n').length)"))
}

func seeButtons(w *window) {
	id := w.start("default", nil)
	path := "/v1/tasks/" + id
	w.Visit("/tasks/" + id)
	const names = "[...document.querySelectorAll('.actions > *')].map((b) => b.innerText).join()"
	w.Until(names + " === 'Stop'")
	w.stub.add(id, map[string]any{"urls": map[string]any{"pause": path + "/pause", "resume": path + "/resume", "replay": path + "/replay"}})
	w.stub.can("POST "+path+"/pause", "{}")
	w.stub.can("POST "+path+"/resume", "{}")
	w.Until(names + " === 'Pause,Stop'")
	w.Click("#pause")
	w.Until("document.querySelector('.toast')?.innerText.includes('pauses after')")
	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Waiting = task.Paused, &task.Waiting{Reason: task.WaitPaused, Detail: "paused by a person since noon: too dear; resume it to go on"}
	})
	w.Until(names + " === 'Resume,Stop'")
	require.Equal(w.T, []string{"Held: paused by a person since noon: too dear; resume it to go on"},
		eval[[]string](w, "[...document.querySelectorAll('.standing .trouble')].map((e) => e.innerText)"), "a pause is told once")
	require.Contains(w.T, w.Text(".standing"), "Paused")
	w.Click("#resume")
	w.Until("document.querySelectorAll('.toast').length === 2")
	require.Len(w.T, w.stub.bodies("POST "+path+"/resume"), 1)
	w.Click("#cancel")
	w.Until("document.querySelector('.state.cancelling') && " + names + " === ''")
	w.tasks.Change(id, func(t *task.Task) { t.Status, t.Outcome = task.Cancelled, task.None })
	w.Until(names + " === 'Replay…'")
}

func seeReplies(w *window) {
	id := w.kind("agent", nil)
	ask := func(r task.InputRequest) {
		r.ID, r.ExpiresAt = "r1", time.Now().Add(time.Hour)
		w.tasks.Change(id, func(t *task.Task) {
			t.Status, t.InputRequests = task.InputRequired, map[string]task.InputRequest{"r1": r}
		})
		w.Until("document.querySelector('.ask')")
	}
	told := func(what string) {
		w.Until("document.querySelector('.standing').innerText.includes(`" + what + "`) && !document.querySelector('.ask')")
	}
	approval := task.InputRequest{Kind: "approval", Tool: "create_ticket", Arguments: json.RawMessage(`{"title":"Dredge"}`)}
	w.Visit("/tasks/" + id)
	ask(approval)
	w.Click(".ask button.main")
	told("approve")
	ask(approval)
	w.Fill(".ask textarea.code", `{"title":"Dredge it"}`)
	w.Click(".ask button.main")
	told(`approve {"title":"Dredge it"}`)
	ask(approval)
	w.Fill(".ask .field + .field textarea", "not now")
	w.Click(".ask button.danger")
	told("deny not now")
	ask(task.InputRequest{Kind: "question", Question: "Which?", Choices: []string{"Hamburg", "青岛"}})
	w.Click(".choices button:last-child")
	told("answer 青岛")
	ask(task.InputRequest{Kind: "question", Question: "Why?"})
	w.Fill(".ask textarea", "because")
	w.Click(".ask button.main")
	told("answer because")
	w.Click("details.card.minor summary")
	w.Fill("details.card.minor textarea", "hurry up")
	w.Click("details.card.minor button")
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
	w.Visit("/tasks/" + id)
	w.Click("#replay")
	w.Until("document.querySelector('.failure').innerText.includes('A bad key.')")
	require.Contains(w.T, w.Text(".failure"), "Set a good one.")
	w.Fill("#replay-model", "m-2")
	w.Fill("#replay-input", `{"words":`)
	w.Click("#replay-send")
	w.Until("document.querySelector('dialog .note')?.innerText.includes('not JSON')")
	w.Fill("#replay-input", `{"words":50}`)
	w.Click("#replay-send")
	w.Until("document.querySelector('#task-id')?.innerText === '" + next + "'")
	require.JSONEq(w.T, `{"scope":"failed","overrides":{"model":"m-2","input":{"words":50}}}`, w.stub.bodies("POST " + path)[0])
}

func seeTimeline(w *window) {
	id := w.start("default", nil)
	w.stub.add(id, map[string]any{"urls": map[string]any{"deliveries": "/v1/tasks/" + id + "/deliveries"}})
	w.Visit("/tasks/" + id)
	w.Click("#timeline summary")
	w.Until("document.querySelector('#timeline li')?.innerText.includes('Accepted')")
	w.Until("document.querySelector('.files')?.innerText.includes('it answered 500')")
	w.Click(".files button")
	w.Until("document.querySelector('.toast')?.innerText === 'It is sent again.'")
}

func seeVideo(w *window) {
	made, _, err := w.tasks.Create(w.Ctx, task.Draft{Tenant: "acme", Kind: "video"})
	require.NoError(w.T, err)
	id := made.ID
	href := "/v1/tasks/" + id + "/artifacts/video-1.mp4"
	w.tasks.Give(id, nil, map[string]string{"video-1.mp4": "no film"})
	w.tasks.Succeed(id, `{"videos":[{"index":0,"status":"succeeded","prompt":"dusk","href":"`+href+`","artifact":"video-1.mp4","seconds":4},
		{"index":1,"status":"succeeded","prompt":"elsewhere","href":"https://evil.example/x.mp4"}]}`, task.Full)
	w.Visit("/tasks/" + id)
	w.Until("document.querySelector('#login')?.open")
	w.Do(chromedp.SendKeys(chromedp.CSS("#key"), "sesame\r"))
	w.Click("figure button")
	w.Until("document.querySelector('figure video')?.src.startsWith('blob:')")
	require.Equal(w.T, 1, eval[int](w, "document.querySelectorAll('video').length"), "films of others are not loaded")
	w.Forgive("401")
}

func seeDeadLetters(w *window) {
	dead, next := w.start("default", nil), w.start("default", nil)
	w.furnishRooms(dead)
	w.stub.can("POST /v1/dead-letters/"+dead+"/discard", "{}")
	w.stub.can("POST /v1/dead-letters/replay", `{"id":"`+next+`"}`)
	w.Visit("/dead-letters")
	w.Until("document.querySelectorAll('article').length === 2 && document.querySelectorAll('.group-card').length === 2")
	require.Contains(w.T, w.Text(".group-card"), "Configure a valid key")
	w.Click("article .danger")
	w.Fill("#reason", "  ")
	w.Click("#discard-send")
	w.Fill("#reason", "the customer left")
	w.Click("#discard-send")
	w.Until("!document.querySelector('dialog')")
	require.Equal(w.T, []string{`{"reason":"the customer left"}`}, w.stub.bodies("POST /v1/dead-letters/"+dead+"/discard"))
	w.Click(".group-card button")
	w.Until("location.search === '?fingerprint=fp-1'")
	w.Click("[role=tab]:nth-child(2)")
	w.Until("location.search === '?status=replayed&fingerprint=fp-1'")
	w.Click(".group-card .main")
	w.Fill("#canary", "3")
	w.Fill("#scope", "all")
	w.Click("#replay-send")
	w.Until("document.querySelector('#task-id')?.innerText === '" + next + "'")
	require.JSONEq(w.T, `{"fingerprint":"fp-1","scope":"all","canary":3}`, w.stub.bodies("POST /v1/dead-letters/replay")[0])
}

func seeSystem(w *window) {
	w.stub.can("GET /v1/system", `{"queues":[{"name":"llm","backlog":0,"oldest_seconds":0}],"lanes":[]}`)
	w.Visit("/system")
	w.Until("document.querySelector('#queues tbody tr')")
	require.Contains(w.T, w.Text("#lanes"), "None.")
	require.False(w.T, eval[bool](w, "!!document.querySelector('#workers')"), "what the API does not tell is left out")
	require.Equal(w.T, 2, strings.Count(w.Text(".figures"), "0"))
}
