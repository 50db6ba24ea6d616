package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/task"
)

// TestPages shows the pages in a real browser. Each subtest has a window and an API of its own.
func TestPages(t *testing.T) {
	t.Parallel()
	shared := browser(t)
	for name, test := range map[string]struct {
		change func(*server.Parts)
		see    func(w *window)
	}{
		"home is empty at first":        {see: seeNothingYet},
		"home follows the tasks":        {see: seeTasksMove},
		"home shows text as text":       {see: seeTextAsText},
		"home leaves the rest alone":    {see: seeSelectionKept},
		"home fits a phone":             {see: seeItFit},
		"home asks for a key":           {change: withKey, see: seeKeyAsked},
		"docs show every operation":     {see: seeOperations},
		"docs unfold what is linked to": {see: seeLinkFollowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.see(open(t, shared, test.change))
		})
	}
}

func withKey(p *server.Parts) { p.Keys = map[string]string{"sesame": "acme"} }

// start makes a task.
func (w *window) start(tenant string, labels map[string]string) string {
	w.t.Helper()
	made, _, err := w.tasks.Create(w.ctx, task.Draft{Tenant: tenant, Kind: "summary", Options: task.Options{Labels: labels}})
	require.NoError(w.t, err)
	return made.ID
}

// lookAgain has home ask for news at once, as it does when its tab comes to the front.
func (w *window) lookAgain() {
	w.t.Helper()
	w.do(chromedp.Evaluate[chromedp.Void]("document.dispatchEvent(new Event('visibilitychange')); undefined"))
}

const rows = "document.querySelectorAll('tbody tr').length"

func seeNothingYet(w *window) {
	w.visit("/")
	w.until("document.querySelector('#note').innerText.includes('No tasks yet')")
	require.False(w.t, eval[bool](w, "document.querySelector('#login').checkVisibility()"), "there are no keys to ask for")
	w.do(chromedp.Click(chromedp.CSS("#kinds summary")))
	require.Contains(w.t, w.text("#kinds pre"), "curl "+w.url+"/v1/tasks -H 'Content-Type: application/json' -d '{")
}

func seeTasksMove(w *window) {
	id := w.start("default", map[string]string{"project": "atlas"})
	w.visit("/")
	w.until(rows + " === 1")
	require.Contains(w.t, w.text("tbody"), "project=atlas")
	require.Contains(w.t, w.text("tbody"), "pending")

	w.tasks.Change(id, func(t *task.Task) {
		t.Status = task.Processing
		t.Progress = task.Progress{Percent: new(40), Step: "summarise", Counts: task.Counts{Total: 5, Succeeded: 2, Running: 3}, ETA: &task.ETA{Seconds: 12}}
		t.Waiting = &task.Waiting{Reason: "rate_limit"}
		t.Retrying = &task.Retrying{Step: "summarise a.pdf", Attempt: 2, LastError: "the provider is overloaded"}
	})
	w.until("document.querySelector('progress')?.value === 40")
	require.Contains(w.t, w.text("tbody"), "summarise · 2 of 5 · about 12 s left · waits for a rate limit · tries again: summarise a.pdf, attempt 2: the provider is overloaded")

	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Error = task.Failed, task.Errorf(task.ModelAuth, "the key was refused")
	})
	w.lookAgain()
	w.until("document.querySelector('tbody .failed')")
	require.Contains(w.t, w.text("tbody"), "the key was refused")
	require.False(w.t, eval[bool](w, "!!document.querySelector('progress')"), "a failed task is on its way nowhere")
}

func seeTextAsText(w *window) {
	const hostile = `<script>window.ran = true</script><img src=x onerror="window.ran = true"><b>"'&amp;`
	id := w.start("default", map[string]string{"note": hostile, "name": "季度报告 сводка ملخص", "long": strings.Repeat("long", 64)})
	w.tasks.Change(id, func(t *task.Task) {
		t.Kind, t.Progress.Step = hostile, hostile
		t.Waiting = &task.Waiting{Reason: hostile}
		t.Retrying = &task.Retrying{Step: hostile, LastError: hostile}
		t.Error = task.Errorf(task.Internal, "%s", hostile)
	})
	w.visit("/")
	w.until(rows + " === 1")
	shown := w.text("tbody")
	require.Equal(w.t, 7, strings.Count(shown, hostile), shown)
	require.Contains(w.t, shown, "name=季度报告 сводка ملخص")
	require.False(w.t, eval[bool](w, "!!window.ran"), "a script ran")
	require.Zero(w.t, eval[int](w, "document.querySelectorAll('main script, main img, main b').length"))
	require.True(w.t, eval[bool](w, "document.documentElement.scrollWidth <= innerWidth"), "long words make the page scroll sideways")
}

func seeSelectionKept(w *window) {
	w.start("default", nil)
	w.visit("/")
	w.until(rows + " === 1")
	const looks = "performance.getEntriesByType('resource').filter((r) => r.name.includes('/v1/tasks')).length"
	before := eval[int](w, "document.querySelector('tbody tr').mark = "+looks)
	for more := range 2 { // when the second answer is there, the first has been shown
		w.lookAgain()
		w.until(fmt.Sprintf("%s > %d", looks, before+more))
	}
	require.True(w.t, eval[bool](w, "!!document.querySelector('tbody tr').mark"), "what did not change was drawn again")
	w.start("default", nil)
	w.lookAgain()
	w.until(rows + " === 2")
}

func seeItFit(w *window) {
	id := w.start("default", map[string]string{"project": "atlas"})
	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Progress.Percent, t.Error = task.Processing, new(7), task.Errorf(task.FetchBlocked, "only public addresses are fetched")
	})
	for _, path := range []string{"/", "/docs#create-task"} {
		w.do(chromedp.EmulateViewport(320, 640))
		w.visit(path)
		w.until("document.querySelector('tbody tr, details[open]')")
		require.LessOrEqual(w.t, eval[int](w, "document.documentElement.scrollWidth"), 320, path)
	}
}

func seeKeyAsked(w *window) {
	w.start("acme", nil)
	w.start("other", nil)
	w.visit("/")
	w.until("document.querySelector('#login').checkVisibility()")
	field := chromedp.CSS("#key")
	w.do(chromedp.SendKeys(field, "wrong\r"))
	w.until("document.querySelector('#note').innerText.includes('key')")
	require.Zero(w.t, eval[int](w, rows))
	w.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('#key').value = ''; undefined"), chromedp.SendKeys(field, " sesame \r"))
	w.until(rows + " === 1")
	w.until("document.querySelector('#kinds details')")
	require.False(w.t, eval[bool](w, "document.querySelector('#login').checkVisibility()"))
	require.False(w.t, eval[bool](w, "document.documentElement.outerHTML.includes('sesame')"), "the key is shown")
	require.NotContains(w.t, strings.Join(w.asks, " "), "sesame", "the key is in an address")
	require.Contains(w.t, eval[string](w, "document.querySelector('#kinds pre').textContent"), `-H "Authorization: Bearer $LONGHAUL_KEY"`)
	w.forgive("401")
}

func seeOperations(w *window) {
	w.visit("/docs")
	w.until("document.querySelector('#operations details')")
	spec := eval[string](w, "fetch('/openapi.json').then((answer) => answer.text())")
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID, Summary string }
		Components struct{ Schemas map[string]any }
	}
	require.NoError(w.t, json.Unmarshal([]byte(spec), &doc))
	count := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			count++
			head := w.text("#" + op.OperationID + " summary")
			require.Equal(w.t, fmt.Sprintf("%s %s %s", strings.ToUpper(method), path, op.Summary), strings.Join(strings.Fields(head), " "))
			require.NotEmpty(w.t, eval[string](w, "document.querySelector('#"+op.OperationID+" pre').textContent"), "an example of %s", op.OperationID)
		}
	}
	require.Equal(w.t, count, eval[int](w, "document.querySelectorAll('#operations details').length"))
	require.Equal(w.t, len(doc.Components.Schemas), eval[int](w, "document.querySelectorAll('#objects details').length"))
	require.Contains(w.t, eval[string](w, "document.querySelector('#create-task pre').textContent"), "It was the best of times.", "the kind's own example")
	require.Contains(w.t, eval[string](w, "document.querySelector('#upload-file pre').textContent"), "curl "+w.url+"/v1/files -F file=@FILE")
	require.Contains(w.t, eval[string](w, "document.querySelector('#delete-file pre').textContent"), "curl -X DELETE "+w.url+"/v1/files/ID")
}

func seeLinkFollowed(w *window) {
	w.visit("/docs#create-task")
	w.until("document.querySelector('#create-task[open]')")
	w.do(chromedp.Click(chromedp.CSS("#create-task a[href='#summary_task']")))
	w.until("document.querySelector('#summary_task[open]')")
	require.Contains(w.t, w.text("#summary_task"), "1 goes first, 5 last")
	require.Zero(w.t, eval[int](w, "[...document.querySelectorAll('main a[href^=\"#\"]')].filter((a) => !document.getElementById(a.hash.slice(1))).length"), "links that lead nowhere")
}
