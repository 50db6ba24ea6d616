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

// TestPages shows the pages in a real browser. Each subtest has a window and an API of its own.
func TestPages(t *testing.T) {
	t.Parallel()
	shared := browser(t)
	for name, test := range map[string]struct {
		change func(*server.Parts)
		see    func(w *window)
	}{
		"tasks: empty at first":          {see: seeNothingYet},
		"tasks: follow":                  {see: seeTasksMove},
		"tasks: leave the rest alone":    {see: seeSelectionKept},
		"tasks: filters and search":      {see: seeFilters},
		"tasks: polled without a stream": {see: seePolling},
		"frame: asks for a key once":     {change: withKey, see: seeKeyAsked},
		"frame: links, back, bookmarks":  {see: seeWayBack},
		"frame: left amid an answer":     {see: seeLeftAmidAnswer},
		"frame: answers that break off":  {see: seeBrokenAnswers},
		"frame: language and theme":      {see: seeChoicesKept},
		"frame: the bell":                {see: seeBell},
		"docs: every operation":          {see: seeOperations},
		"docs: unfold what is linked to": {see: seeLinkFollowed},
		"markdown":                       {see: seeMarkdown},
		"refusals of a proxy":            {see: seeForeignRefusal},
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
	w.T.Helper()
	made, _, err := w.tasks.Create(w.Ctx, task.Draft{Tenant: tenant, Kind: "summary", Options: task.Options{Labels: labels}})
	require.NoError(w.T, err)
	return made.ID
}

const rows = "document.querySelectorAll('tbody tr:not([hidden])').length"

func seeNothingYet(w *window) {
	w.Visit("/")
	w.Until("document.querySelector('.empty')?.innerText.includes('No tasks yet')")
	require.False(w.T, eval[bool](w, "!!document.querySelector('#login')"), "there are no keys to ask for")
	w.Until("document.querySelector('#connection').innerText === 'Live'")
}

func seeTasksMove(w *window) {
	id := w.start("default", map[string]string{"project": "atlas"})
	w.Visit("/")
	w.Until(rows + " === 1")
	require.Contains(w.T, w.Text("tbody"), "project: atlas")
	require.Contains(w.T, w.Text("tbody"), "Waiting to start")

	w.tasks.Change(id, func(t *task.Task) {
		t.Status = task.Processing
		t.Progress = task.Progress{Percent: new(40), Step: "summarise", Counts: task.Counts{Total: 5, Succeeded: 2, Running: 3}, ETA: &task.ETA{Seconds: 12}}
		t.Waiting = &task.Waiting{Reason: "rate_limit"}
		t.Retrying = &task.Retrying{Step: "summarise a.pdf", Attempt: 2, LastError: "the provider is overloaded"}
		t.Usage.Cost = &task.Cost{Amount: 1.5, Currency: "USD"}
	})
	w.Until("document.querySelector('progress')?.value === 40")
	for _, text := range []string{"summarising · 2 of 5 · about 12 sec left", "Waits for a rate limit", "Tries again: summarise a.pdf, attempt 2. Last error: the provider is overloaded", "$1.50"} {
		require.Contains(w.T, w.Text("tbody"), text)
	}
	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Error = task.Failed, task.Errorf(task.ModelAuth, "the key was refused")
	})
	w.Until("document.querySelector('tbody .state.failed')")
	require.Contains(w.T, w.Text("tbody"), "the key was refused")
	require.False(w.T, eval[bool](w, "!!document.querySelector('progress')"), "a failed task is on its way nowhere")
	w.start("default", nil)
	w.Until(rows + " === 2")
}

func seeSelectionKept(w *window) {
	still, moves := w.start("default", nil), w.start("default", nil)
	w.Visit("/")
	w.Until(rows + " === 2")
	w.Do(chromedp.Evaluate[chromedp.Void]("document.querySelector('[data-id=" + still + "]').mark = true; undefined"))
	w.tasks.Change(moves, func(t *task.Task) { t.Status = task.Processing })
	w.Until("document.querySelector('.state.processing')")
	require.True(w.T, eval[bool](w, "!!document.querySelector('[data-id="+still+"]').mark"), "what did not change was drawn again")
}

func seeFilters(w *window) {
	for i := range 30 {
		w.start("default", map[string]string{"n": fmt.Sprint(i % 2)})
	}
	failed := w.start("default", map[string]string{"n": "0", "name": "季度报告"})
	w.tasks.Change(failed, func(t *task.Task) { t.Status = task.Failed })
	w.Visit("/?label=n:0")
	w.Until(rows + " === 16")
	w.Fill("#search", "季度")
	w.Until(rows + " === 1")
	w.Fill("#search", "")
	w.Fill("#label", "")
	w.Until("document.querySelector('#more').checkVisibility()")
	require.Equal(w.T, 25, eval[int](w, rows), "a page")
	w.Click("#more")
	w.Until(rows + " === 31")
	w.Fill("#status", "failed")
	w.Until(rows + " === 1")
	require.Equal(w.T, "?status=failed", eval[string](w, "location.search"))
	w.Fill("#kind", "summary")
	w.Until("location.search === '?status=failed&kind=summary' && " + rows + " === 1")
	w.Fill("#search", "nowhere")
	w.Until("document.querySelector('.empty').innerText.includes('None of the loaded tasks fits')")
}

func seePolling(w *window) {
	w.stub.cut = true
	id := w.start("default", nil)
	w.Visit("/")
	w.Until(rows + " === 1 && document.querySelector('#connection').innerText === 'Every 3 s'")
	w.tasks.Change(id, func(t *task.Task) { t.Status = task.Processing })
	w.Do(chromedp.Evaluate[chromedp.Void]("document.dispatchEvent(new Event('visibilitychange')); undefined"))
	w.Until("document.querySelector('.state.processing')")
	w.Visit("/tasks/" + id)
	w.Until("document.querySelector('.state.processing')")
	w.tasks.Succeed(id, `{"documents":[]}`, task.Full)
	w.Until("document.querySelector('.standing .state.succeeded')")
	w.Forgive("404")
}

func seeKeyAsked(w *window) {
	w.start("acme", nil)
	w.start("other", nil)
	w.Visit("/")
	w.Until("document.querySelector('#login')?.open")
	w.Do(chromedp.SendKeys(chromedp.CSS("#key"), "wrong\r"))
	w.Until("document.querySelector('#key-note')?.innerText.includes('not known')")
	require.Zero(w.T, eval[int](w, rows))
	w.Do(chromedp.SendKeys(chromedp.CSS("#key"), " sesame \r"))
	w.Until(rows + " === 1")
	require.False(w.T, eval[bool](w, "!!document.querySelector('#login')"), "it is asked for once")
	w.Visit("/new")
	w.Until("document.querySelector('#submit')")
	require.False(w.T, eval[bool](w, "document.documentElement.outerHTML.includes('sesame')"), "the key is shown")
	require.NotContains(w.T, strings.Join(w.Asked(), " "), "sesame", "the key is in an address")
	require.Zero(w.T, eval[int](w, "Object.values(localStorage).filter((v) => v.includes('sesame')).length"), "the key outlives the tab")
	w.Click("#forget")
	require.Eventually(w.T, func() bool { // the page is loaded anew
		open, err := chromedp.Run(w.Ctx, chromedp.Evaluate[bool]("!!document.querySelector('#login')?.open"))
		return err == nil && open
	}, 30*time.Second, 20*time.Millisecond)
	w.Forgive("401")
}

func seeWayBack(w *window) {
	id := w.start("default", nil)
	w.Visit("/tasks/" + id)
	w.Until("document.querySelector('#task-id')?.innerText === '" + id + "'")
	require.Equal(w.T, "Tasks", w.Text("#bar [aria-current]"))
	w.Click("#bar a[href='/new']")
	w.Until("document.querySelector('#submit') && location.pathname === '/new' && document.title === 'New task · longhaul'")
	require.Equal(w.T, "main", eval[string](w, "document.activeElement.id"), "the focus goes with the page")
	w.Click(".brand")
	w.Until(rows + " === 1")
	w.Click("tbody a")
	w.Until("document.querySelector('#task-id')")
	w.Do(chromedp.NavigateBack(), chromedp.NavigateBack())
	w.Until("document.querySelector('#submit')")
	w.Visit("/tasks/task-404")
	w.Until("document.querySelector('h1').innerText === 'There is no such task'")
	w.Forgive("404")
}

type place struct{ path, asks, shows string }

// places are the pages that ask for something, what each of them asks for last, and what it shows when that fails.
func (w *window) places() []place {
	id := w.start("default", nil)
	const lost = "could not be reached"
	return []place{
		{"/", "/v1/kinds", lost},
		{"/new", "/v1/kinds", lost},
		{"/dead-letters", "/v1/dead-letters/groups", lost},
		{"/system", "/v1/system", lost},
		{"/tasks/" + id, "/v1/tasks/" + id, "Waiting to start"},
	}
}

// seeLeftAmidAnswer leaves each page while half an answer has come: that is no failure, and no answer either.
func seeLeftAmidAnswer(w *window) {
	w.stub.half = make(chan string, 100)
	w.Visit("/")
	for _, place := range append(w.places(), place{path: "/", asks: "/v1/kinds"}) {
		w.Do(chromedp.Evaluate[chromedp.Void]("document.body.append(Object.assign(document.createElement('a'), { id: 'on', href: '" + place.path + "' })); on.click(); on.remove()"))
		for asked := ""; asked != place.asks; {
			select {
			case asked = <-w.stub.half:
			case <-w.Ctx.Done():
				require.Fail(w.T, "not asked for", place.asks)
			}
		}
		time.Sleep(50 * time.Millisecond) // the first half of the answer is on its way to the page
	}
}

// seeBrokenAnswers breaks every answer off in its midst: each page says that the API could not be reached, but that of a
// task, of which its stream tells.
func seeBrokenAnswers(w *window) {
	w.stub.half, w.stub.breaks = make(chan string), true
	for _, place := range w.places() {
		w.Visit(place.path)
		w.Until("document.querySelector('#main').innerText.includes('" + place.shows + "')")
	}
	require.False(w.T, eval[bool](w, "document.querySelector('#main').innerText.includes('no such task')"))
	w.Forgive("ERR_INCOMPLETE_CHUNKED_ENCODING")
}

func seeChoicesKept(w *window) {
	w.Do(media("dark"))
	w.Visit("/")
	const back = "getComputedStyle(document.body).backgroundColor"
	dark := eval[string](w, back)
	w.Click("#theme")
	require.NotEqual(w.T, dark, eval[string](w, back))
	w.Click("#language")
	w.Until("document.querySelector('h1').innerText === '任务' && document.documentElement.lang === 'zh-CN'")
	w.Visit("/new/qa")
	w.Until("document.querySelector('#submit')?.innerText === '开始任务'")
	require.NotEqual(w.T, dark, eval[string](w, back), "light was chosen")
	require.Contains(w.T, w.Text(".sheet"), "要摘要的内容")
}

func seeBell(w *window) {
	id, old := w.start("default", nil), w.start("default", nil)
	w.tasks.Succeed(old, `{}`, task.Full)
	w.stub.can("GET /v1/system", "{}")
	w.Visit("/system")
	w.Until("document.querySelector('#connection').innerText === 'Live'")
	w.tasks.Succeed(id, `{}`, task.Full)
	w.Until("document.querySelector('.badge').innerText === '1'")
	require.Equal(w.T, "Summary: Done", eval[string](w, "document.querySelector('#said').textContent"), "and it is said")
	w.Click("#bell")
	require.Equal(w.T, 1, eval[int](w, "document.querySelectorAll('#notices li').length"), "what was over before is no news")
	w.Click("#notices a")
	w.Until("document.querySelector('#task-id')?.innerText === '" + id + "'")
	w.Until("document.querySelector('.badge').hidden")
}

func seeOperations(w *window) {
	w.Visit("/docs")
	w.Until("document.querySelector('#operations details')")
	spec := eval[string](w, "fetch('/openapi.json').then((answer) => answer.text())")
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID, Summary string }
		Components struct{ Schemas map[string]any }
	}
	require.NoError(w.T, json.Unmarshal([]byte(spec), &doc))
	count := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			count++
			head := w.Text("#" + op.OperationID + " summary")
			require.Equal(w.T, fmt.Sprintf("%s %s %s", strings.ToUpper(method), path, op.Summary), strings.Join(strings.Fields(head), " "))
			require.NotEmpty(w.T, eval[string](w, "document.querySelector('#"+op.OperationID+" pre').textContent"), "an example of %s", op.OperationID)
		}
	}
	require.Equal(w.T, count, eval[int](w, "document.querySelectorAll('#operations details').length"))
	require.Equal(w.T, len(doc.Components.Schemas), eval[int](w, "document.querySelectorAll('#objects details').length"))
	require.Contains(w.T, eval[string](w, "document.querySelector('#create-task pre').textContent"), "It was the best of times.", "the kind's own example")
	require.Contains(w.T, eval[string](w, "document.querySelector('#upload-file pre').textContent"), "curl "+w.URL+"/v1/files -F file=@FILE")
	require.Contains(w.T, eval[string](w, "document.querySelector('#delete-file pre').textContent"), "curl -X DELETE "+w.URL+"/v1/files/ID")
}

func seeLinkFollowed(w *window) {
	w.Visit("/docs#create-task")
	w.Until("document.querySelector('#create-task[open]')")
	w.Do(chromedp.Click(chromedp.CSS("#create-task a[href='#summary_task']")))
	w.Until("document.querySelector('#summary_task[open]')")
	require.Contains(w.T, w.Text("#summary_task"), "1 goes first, 5 last")
	require.Zero(w.T, eval[int](w, "[...document.querySelectorAll('main a[href^=\"#\"]')].filter((a) => !document.getElementById(a.hash.slice(1))).length"), "links that lead nowhere")
}

func seeMarkdown(w *window) {
	w.Visit("/")
	for text, want := range map[string]string{
		"# A *b*\nc  \nd":                   "<h3>A <em>b</em></h3><p>c<br>d</p>",
		"- a\n- b\n  1. c\n\nd":             "<ul><li>a</li><li>b<ol><li>c</li></ol></li></ul><p>d</p>",
		"3. a\n\n4. b":                      `<ol start="3"><li>a</li><li>b</li></ol>`,
		"> q\n> r\n\n---":                   "<blockquote><p>q\nr</p></blockquote><hr>",
		"```js\nif (a < b) **c**\n```":      "<pre><code>if (a &lt; b) **c**</code></pre>",
		"``` \nnever closed":                "<pre><code>never closed</code></pre>",
		"| a | b |\n|---|:-:|\n| 1 | `x` |": `<div class="wide"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>x</code></td></tr></tbody></table></div>`,
		"**重要**：`a_b_c` snake_case_name":    "<p><strong>重要</strong>：<code>a_b_c</code> snake_case_name</p>",
		`2 \* 3 * 4`:                        "<p>2 * 3 * 4</p>",
		"<b>no</b> <script>x</script>":      "<p>&lt;b&gt;no&lt;/b&gt; &lt;script&gt;x&lt;/script&gt;</p>",
		"[a](javascript:alert(1))":          "<p>[a](javascript:alert(1))</p>",
		"![p](data:text/html,x)":            "<p>![p](data:text/html,x)</p>",
		"[a](https://e.org/x) b":            `<p><a href="https://e.org/x" rel="noopener noreferrer nofollow" target="_blank">a</a> b</p>`,
		"see https://e.org/a_b.":            `<p>see <a href="https://e.org/a_b" rel="noopener noreferrer nofollow" target="_blank">https://e.org/a_b</a>.</p>`,
		"":                                  "",
	} {
		quoted, _ := json.Marshal(text)
		got := eval[string](w, "import('/ui/markdown.js').then((m) => m.markdown("+string(quoted)+").innerHTML)")
		require.Equal(w.T, want, strings.ReplaceAll(got, "<br>\n", "<br>"), text)
	}
	deep := strings.Repeat("> ", 4000) + strings.Repeat("*", 4000) + strings.Repeat("[", 4000) + strings.Repeat("`", 4001)
	require.Positive(w.T, eval[int](w, "import('/ui/markdown.js').then((m) => m.markdown(`"+strings.ReplaceAll(deep, "`", "\\`")+"`).textContent.length)"), "nesting does not break it")
	for _, long := range []string{`"**a ".repeat(250000)`, `"**a\n\n".repeat(20000)`, `"a\n".repeat(300000)`} { // none takes for ever, or more room than a call has
		require.Positive(w.T, eval[int](w, "import('/ui/markdown.js').then((m) => m.markdown("+long+").textContent.length)"), long)
	}
}

// seeForeignRefusal tells what a proxy said that knows no JSON, over HTTP/2 too, where a status has no words.
func seeForeignRefusal(w *window) {
	w.Visit("/")
	for text, want := range map[string]string{"": "HTTP 413", "Request Entity Too Large": "Request Entity Too Large"} {
		got := eval[string](w, "import('/ui/api.js').then(async (api) => { window.fetch = async () => new Response('<h1>no</h1>', {status: 413, statusText: '"+text+"'}); "+
			"try { await api.ask('/x'); } catch (problem) { return problem.title; } })")
		require.Equal(w.T, want, got)
	}
}
