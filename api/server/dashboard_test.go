package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/task"
)

const many = 20_000

// The dashboard keeps nothing: what it counts is what the store has, before a restart and after it, however many
// tasks there are. A page of it holds one page of tasks.
func TestPages_listsMatchTheStore(t *testing.T) {
	t.Parallel()
	shared := browser(t)
	tasks := servertest.NewTasks()
	states := []task.State{task.Succeeded, task.Failed, task.Processing}
	for i := range many {
		made, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
		require.NoError(t, err)
		if i < 300 { // Change looks at every task
			tasks.Change(made.ID, func(t *task.Task) { t.Status = states[i%3] })
		}
	}
	for _, when := range []string{"at first", "after a restart"} {
		w := open(t, shared, func(p *server.Parts) { p.Tasks = tasks })
		w.Visit("/")
		w.Until(rows + " === 25")
		require.Contains(t, w.Text("#count"), "there are more", when)
		for status, want := range map[string]int{"": many, "pending": many - 300, "succeeded": 100, "failed": 100, "processing": 100} {
			require.Equal(t, want, w.count("/v1/tasks?limit=100&status="+status), "%s: %s", when, status)
		}
		w.Fill("#status", "failed")
		for shown := 25; shown <= 100; shown += 25 {
			w.Until(fmt.Sprintf("%s === %d", rows, shown))
			if shown < 100 {
				w.Click("#more")
			}
		}
		w.Until("!document.querySelector('#more').checkVisibility()")
	}
}

// count walks a list to its end, as a reader of the API does.
func (w *window) count(path string) int {
	w.T.Helper()
	path = strings.TrimSuffix(path, "&status=")
	return eval[int](w, `(async () => {
		let n = 0;
		for (let cursor = ""; cursor !== null;) {
			const page = await (await fetch("`+path+`" + (cursor && "&cursor=" + cursor))).json();
			n += page.data.length;
			cursor = page.next_cursor;
		}
		return n;
	})()`)
}

const hostile = `<script>window.ran = true</script><img src=x onerror="window.ran = true"><b>"'&amp;`

// What is long is shown in part, to be unfolded and downloaded whole; what is hostile is shown as the text it is.
func TestPages_longAndHostileText(t *testing.T) {
	t.Parallel()
	w := open(t, browser(t), withEverything)
	inert := func(where string) {
		t.Helper()
		require.False(t, eval[bool](w, "!!window.ran"), "a script ran: %s", where)
		require.Zero(t, eval[int](w, "document.querySelectorAll('main script, main img, main iframe').length"), where)
		require.LessOrEqual(t, eval[int](w, "document.documentElement.scrollWidth - innerWidth"), 0, "%s scrolls sideways", where)
	}
	big := "# 港口\n\n" + strings.Repeat("港口报告 "+hostile+" ", 12_000) // over a megabyte
	value, err := json.Marshal(map[string]any{"report": big, "output": map[string]any{"深": []any{hostile, map[string]any{"er": big[:3000]}}}, "stopped_by": hostile})
	require.NoError(t, err)

	id := w.kind("agent", map[string]string{"note": hostile, "name": "季度报告 сводка ملخص", "long": strings.Repeat("long", 64)})
	w.tasks.Change(id, func(t *task.Task) {
		t.Status, t.Progress.Step, t.Progress.Message = task.Processing, hostile, hostile
		t.Waiting = &task.Waiting{Reason: task.WaitReason(hostile), Detail: hostile}
		t.Retrying = &task.Retrying{Step: hostile, LastError: hostile}
		t.InputRequests = map[string]task.InputRequest{"r": {ID: "r", Kind: "approval", Tool: hostile, Question: hostile, Arguments: json.RawMessage(`{"x":"<img src=x onerror=\"window.ran = true\">"}`), Choices: []string{hostile}}}
		t.URLs.Temporal = "javascript:window.ran=true"
	})
	w.stub.write(id, `{"item":0,"offset":0,"text":`+quoted(hostile)+`}`)
	w.Visit("/tasks/" + id)
	w.Until("document.querySelector('.writing') && document.querySelector('.ask')")
	require.GreaterOrEqual(t, strings.Count(w.Text("main"), hostile), 8)
	require.False(t, eval[bool](w, "[...document.links].some((a) => a.protocol === 'javascript:')"))
	inert("a task at work")

	w.tasks.Give(id, []task.Item{{ID: "i", Status: task.ItemFailed, Name: hostile, Error: &task.Error{Title: hostile, Detail: big}}, {ID: "j", Index: 1, Status: task.ItemSucceeded, Result: value}}, map[string]string{hostile: "x"})
	w.tasks.Change(id, func(t *task.Task) {
		t.Error = &task.Error{Code: task.Code(hostile), Title: hostile, Detail: hostile, Step: hostile}
	})
	w.tasks.Succeed(id, string(value), task.Partial)
	w.Until("document.querySelector('#result .long button') && document.querySelector('#items tbody') && document.querySelector('#artifacts a')")
	require.Less(t, eval[int](w, "document.querySelector('#result .prose').textContent.length"), 10_000, "the beginning alone")
	inert("its result")
	w.Click("#result .long button")
	w.Until("document.querySelector('#result .prose').textContent.length > 1000000")
	inert("all of its result")
	require.Equal(t, len(value), eval[int](w, "fetch(document.querySelector('#result a[download]').href).then((a) => a.arrayBuffer()).then((b) => b.byteLength)"), "the download is whole")

	w.Visit("/")
	w.Until(rows + " === 1")
	require.Contains(t, w.Text("tbody"), "name: 季度报告 сводка ملخص")
	inert("the list")
	seeHostileDeadLetters(w)
	inert("dead letters")
	w.Visit("/system")
	w.Until("document.querySelector('#workers')")
	inert("the system")
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func seeHostileDeadLetters(w *window) {
	w.T.Helper()
	h := quoted(hostile)
	w.stub.can("GET /v1/dead-letters/groups", fmt.Sprintf(`{"data":[{"fingerprint":%s,"kind":%s,"code":%s,"provider":%s,"tasks":1,"cause":%s,"fix":%s,"example":%s,"first_seen":"2026-01-01T00:00:00Z","last_seen":"2026-01-01T00:00:00Z"}]}`, h, h, h, h, h, h, h))
	w.stub.can("GET /v1/dead-letters", fmt.Sprintf(`{"data":[{"id":%s,"status":"open","kind":%s,"headline":%s,"at":"2026-01-01T00:00:00Z","error":{"code":"x","title":%s,"detail":%s},"failures":[{"code":%s,"count":1,"example":{"name":%s,"error":{"detail":%s}},"tries":[{"at":"2026-01-01T00:00:00Z","said":%s,"target":%s}]}]}]}`, h, h, h, h, h, h, h, h, h, h))
	w.stub.can("GET /v1/system", fmt.Sprintf(`{"queues":[{"name":%s}],"lanes":[{"provider":%s,"why":%s}],"workers":[{"identity":%s,"queues":[%s]}],"kinds":[{"kind":%s}]}`, h, h, h, h, h, h))
	w.Visit("/dead-letters")
	w.Until("document.querySelector('article') && document.querySelector('.group-card')")
	require.GreaterOrEqual(w.T, strings.Count(w.Text("main"), hostile), 8)
}
