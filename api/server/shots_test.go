package server_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/app"
	"longhaul/internal/task"
)

// shots is where pictures of every page are put, for people to look at.
var shots = flag.String("shots", "", "folder for pictures of the pages")

// sight is a page as it is looked at: what must be there, and what is done first.
type sight struct{ name, path, there, first string }

// TestPages_everyLook opens every page on a desk and on a phone, in the light and in the dark, in both languages.
// None may scroll sideways, and the window complains of what breaks the policy or throws.
func TestPages_everyLook(t *testing.T) {
	t.Parallel()
	shared := browser(t)
	for name, look := range map[string]struct {
		width, height int64
		scheme, words string
	}{
		"desk light":     {1280, 860, "light", "en"},
		"desk dark":      {1280, 860, "dark", "en"},
		"phone light":    {360, 740, "light", "en"},
		"phone dark":     {360, 740, "dark", "en"},
		"desk chinese":   {1280, 860, "light", "zh"},
		"tablet chinese": {760, 1000, "dark", "zh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, shared, withEverything)
			sights := w.furnish()
			w.Do(chromedp.EmulateViewport(look.width, look.height), media(look.scheme))
			w.Visit("/system")
			w.Do(chromedp.Evaluate[chromedp.Void]("localStorage.setItem('language', '" + look.words + "'); undefined"))
			for _, s := range sights {
				w.look(name, s, look.width)
			}
			w.Forgive("422") // of the form that was sent empty
		})
	}
}

func withEverything(p *server.Parts) { p.Kinds = app.Kinds() }

func media(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

func (w *window) look(name string, s sight, width int64) {
	w.T.Helper()
	w.Visit(s.path)
	w.Until(s.there)
	if s.first != "" {
		w.Do(chromedp.Evaluate[chromedp.Void](s.first + "; undefined"))
		w.Until("document.querySelector('#main') && !document.querySelector('#submit')?.disabled") // let it be drawn, and a form be answered
	}
	if *shots != "" {
		picture, err := chromedp.Run(w.Ctx, chromedp.FullScreenshot(100))
		require.NoError(w.T, err)
		file := filepath.Join(*shots, strings.ReplaceAll(name, " ", "-")+"-"+s.name+".png")
		require.NoError(w.T, os.WriteFile(file, picture, 0o600))
	}
	require.LessOrEqual(w.T, eval[int64](w, "document.documentElement.scrollWidth"), width, "%s scrolls sideways", s.path)
	require.Equal(w.T, 1, eval[int](w, "document.querySelectorAll('h1').length"), "%s has one heading of its own", s.path)
	require.Empty(w.T, eval[[]string](w, unnamed), "%s has controls without a name", s.path)
	require.Empty(w.T, eval[[]string](w, pale), "%s has text that is hard to read (WCAG AA)", s.path)
}

// unnamed are the visible controls of a page that a reader of the screen could not tell apart.
const unnamed = `[...document.querySelectorAll('button, a[href], input, select, textarea, summary')]
	.filter((e) => e.checkVisibility() && !(e.innerText || '').trim() && !e.labels?.length && !e.getAttribute('aria-label') && e.type !== 'file')
	.map((e) => e.outerHTML.slice(0, 120))`

// pale are the visible texts of a page whose contrast to what is behind them is under 4.5.
const pale = `(() => {
	const parts = (c) => (c.match(/[\d.]+/g) || []).map(Number);
	const light = (c) => parts(c).slice(0, 3).map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor, a = parts(c)[3]; if (a === undefined || a === 1) return c; } return "rgb(255, 255, 255)"; };
	const texts = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility({ checkOpacity: true }) && !e.disabled && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
	return texts.map((e) => { const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x); return [(a + .05) / (b + .05), e]; })
		.filter(([ratio]) => ratio < 4.5).map(([ratio, e]) => ratio.toFixed(2) + " " + e.outerHTML.slice(0, 120));
})()`

// furnish makes tasks in every state, dead letters and a busy system, and says which pages show them.
func (w *window) furnish() []sight {
	w.T.Helper()
	long := w.start("default", map[string]string{"project": "atlas", "wave": "3"})
	w.tasks.Change(long, func(t *task.Task) {
		t.Status, t.Model, t.Budget = task.Processing, "gpt-5-mini", new(4.5)
		t.StartedAt, t.DeadlineAt = new(time.Now().Add(-4*time.Minute)), new(time.Now().Add(50*time.Minute))
		t.Progress = task.Progress{Percent: new(42), Step: "summarise", StepIndex: 3, StepCount: 5, Counts: task.Counts{Total: 120, Succeeded: 48, Failed: 2, Running: 8, Pending: 62}, ETA: &task.ETA{Seconds: 340}}
		t.Waiting = &task.Waiting{Reason: "rate_limit", Until: new(time.Now().Add(70 * time.Second)), Detail: "openai asks to wait"}
		t.Retrying = &task.Retrying{Step: "summarise annual-report.pdf", Attempt: 3, LastError: "the provider is overloaded", NextAttempt: new(time.Now().Add(12 * time.Second)), Calls: 1}
		t.Usage = task.Usage{Requests: 61, InputTokens: 812_400, OutputTokens: 21_310, CachedTokens: 120_000, WastedTokens: 900, Cost: &task.Cost{Amount: 0.7312, Currency: "USD"}}
		t.URLs.Temporal = "http://127.0.0.1:8233/namespaces/default/workflows/" + t.ID
	})
	w.stub.add(long, map[string]any{"urls": map[string]any{"pause": "/v1/tasks/" + long + "/pause"}})
	w.stub.write(long, `{"item":3,"offset":0,"text":"The committee finds that the harbour was rebuilt in 1911 at a cost of "}`, `{"item":3,"offset":70,"text":"four million, and that it is deeper now"}`)

	asks := w.kind("agent", nil)
	w.tasks.Change(asks, func(t *task.Task) {
		t.Status = task.InputRequired
		t.Progress = task.Progress{Percent: new(30), Step: "work", StepIndex: 2, StepCount: 4}
		t.InputRequests = map[string]task.InputRequest{
			"r1": {ID: "r1", Kind: "approval", Tool: "create_ticket", Arguments: json.RawMessage(`{"title":"Dredge the harbour","priority":2}`), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(23 * time.Hour)},
			"r2": {ID: "r2", Kind: "question", Question: "Which harbour do you mean?", Choices: []string{"Hamburg", "Qingdao 青岛"}, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(23 * time.Hour)},
		}
	})
	summary := w.succeeded("summary", summaryResult)
	w.tasks.Give(summary, []task.Item{
		{ID: "i0", Index: 0, Status: task.ItemSucceeded, Name: "annual-report.pdf", Attempts: 4, Result: json.RawMessage(`{"summary":"The harbour was **rebuilt** in 1911."}`), Usage: task.Usage{Cost: &task.Cost{Amount: 0.00213, Currency: "USD"}}},
		{ID: "i1", Index: 1, Status: task.ItemFailed, Name: "扫描件.pdf", Attempts: 0, Error: task.Errorf(task.NoText, "the pages are pictures; it needs OCR")},
	}, map[string]string{"summary.md": "# Summaries", "页面.html": "<p>"})
	qa := w.succeeded("qa", qaResult)
	classified := w.succeeded("classify", `{"rows":2,"succeeded":2,"failed":0,"cancelled":0,"copies":0,"calls":1,"saved":1,"model":"m","seconds":3.2,"output":"results.jsonl"}`)
	w.tasks.Give(classified, []task.Item{
		{ID: "i0", Index: 0, Status: task.ItemSucceeded, Attempts: 1, Result: json.RawMessage(`{"label":"delivery","confidence":0.94}`)},
		{ID: "i1", Index: 1, Status: task.ItemSucceeded, Attempts: 1, Cached: true, Result: json.RawMessage(`{"label":"account","confidence":0.71}`)},
	}, map[string]string{"results.jsonl": "{}"})
	failed := w.start("default", nil)
	w.tasks.Change(failed, func(t *task.Task) {
		t.Status, t.Outcome = task.Failed, task.None
		t.FinishedAt = new(time.Now())
		t.Error = task.Errorf(task.ModelAuth, "the provider answered 401: the key is not valid")
		t.Error.Step, t.Error.Attempts, t.Error.Provider = "summarise", 1, &task.Provider{Name: "openai", Status: 401, RequestID: "req_81f"}
	})
	w.stub.add(failed, map[string]any{"urls": map[string]any{"replay": "/v1/tasks/" + failed + "/replay"}, "dead_letter": true})
	w.stub.can("GET /v1/dead-letters/"+failed, `{"cause":"The provider refuses the configured API key.","fix":"Configure a valid key and restart the workers; then replay.","failures":[]}`)
	w.kind("video", map[string]string{"scene": "dusk"})
	w.furnishRooms(failed)
	return []sight{
		{"tasks", "/", rows + " >= 7", ""},
		{"working", "/tasks/" + long, "document.querySelector('#live .writing')?.textContent.includes('deeper')", ""},
		{"asks", "/tasks/" + asks, "document.querySelectorAll('.ask').length === 2", ""},
		{"summary", "/tasks/" + summary, "document.querySelector('#items tbody tr') && document.querySelector('#artifacts')", "document.querySelector('#timeline summary').click()"},
		{"qa", "/tasks/" + qa, "document.querySelector('#result blockquote')", ""},
		{"classify", "/tasks/" + classified, "document.querySelectorAll('#items tbody tr').length === 2", ""},
		{"failed", "/tasks/" + failed, "document.querySelector('#replay')", ""},
		{"replay", "/tasks/" + failed, "document.querySelector('#replay')", "document.querySelector('#replay').click()"},
		{"new", "/new/summary", "document.querySelector('#submit')", "document.querySelector('#example').click()"},
		{"new-agent", "/new/agent", "document.querySelector('#submit')", "document.querySelector('#example').click(); document.querySelector('.sheet .minor.card').open = true"},
		{"new-classify", "/new/classify", "document.querySelector('#submit')", "document.querySelector('#submit').click()"},
		{"dead", "/dead-letters", "document.querySelectorAll('article').length === 2", ""},
		{"system", "/system", "document.querySelector('#workers tbody tr')", ""},
		{"docs", "/docs", "document.querySelector('#create-task')", "document.querySelector('#create-task').open = true"},
	}
}

// kind makes a task of a kind.
func (w *window) kind(kind string, labels map[string]string) string {
	w.T.Helper()
	made, _, err := w.tasks.Create(w.Ctx, task.Draft{Tenant: "default", Kind: kind, Options: task.Options{Labels: labels}})
	require.NoError(w.T, err)
	return made.ID
}

func (w *window) succeeded(kind, result string) string {
	w.T.Helper()
	id := w.kind(kind, nil)
	w.tasks.Change(id, func(t *task.Task) {
		t.StartedAt, t.Progress.Percent = new(t.CreatedAt), new(100)
		t.Progress.Counts = task.Counts{Total: 2, Succeeded: 2}
	})
	w.tasks.Succeed(id, result, task.Full)
	return id
}

// furnishRooms answers for dead letters and the system.
func (w *window) furnishRooms(failed string) {
	at := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) }
	w.stub.can("GET /v1/dead-letters/groups", fmt.Sprintf(`{"object":"list","next_cursor":null,"data":[
		{"fingerprint":"fp-1","kind":"summary","step":"summarise","code":"model_auth","provider":"openai","tasks":37,"items":412,"first_seen":%q,"last_seen":%q,"cause":"The provider refuses the configured API key.","fix":"Configure a valid key and restart the workers; then replay.","example":"task-6"},
		{"fingerprint":"fp-2","kind":"video","step":"render","code":"render_failed","provider":"kling","tasks":2,"items":2,"first_seen":%q,"last_seen":%q,"cause":"","fix":"","example":"task-x"}]}`,
		at(26*time.Hour), at(4*time.Minute), at(3*time.Hour), at(2*time.Hour)))
	w.stub.can("GET /v1/dead-letters", fmt.Sprintf(`{"object":"list","next_cursor":null,"data":[
		{"id":%q,"object":"dead_letter","status":"open","kind":"summary","headline":"Summarise 12 documents: annual-report.pdf and 11 more","at":%q,"cause":"The provider refuses the configured API key.","fix":"Configure a valid key and restart the workers; then replay.",
		 "error":{"code":"model_auth","title":"API key refused by the model provider","detail":"the provider answered 401","step":"summarise","attempts":1,"retryable":false,"provider":{"name":"openai","status":401}},
		 "failures":[{"fingerprint":"fp-1","step":"summarise","code":"model_auth","provider":"openai","count":12,"example":{"index":3,"name":"annual-report.pdf","error":{"detail":"the provider answered 401"}},"tries":[{"at":"2026-11-29T12:00:00Z","code":"model_auth","said":"Incorrect API key provided","target":"openai/gpt-5-mini"}]}],"counts":{},"usage":{"cost":{"amount":0.02,"currency":"USD"}},"replay":{"method":"POST","path":"/v1/dead-letters/%s/replay","body":"{}"},"replays":[]},
		{"id":"task-x","object":"dead_letter","status":"open","kind":"video","headline":"Render a lighthouse at dusk, waves below","at":%q,"error":{"code":"render_failed","title":"Rendering failure","detail":"the job ended without a video","retryable":true},"failures":[]}]}`,
		failed, at(4*time.Minute), failed, at(2*time.Hour)))
	w.stub.can("GET /v1/system", fmt.Sprintf(`{"throughput":{"per_minute":12.4},
		"queues":[{"name":"longhaul-workflows","backlog":0,"oldest_seconds":0},{"name":"longhaul-llm-openai","backlog":131,"oldest_seconds":74}],
		"lanes":[{"provider":"openai","open":false,"why":"rate_limited","until":%q,"in_flight":0,"waiting":131,"limit":50},{"provider":"deepseek","open":true,"in_flight":7,"waiting":0,"limit":100}],
		"workers":[{"identity":"12345@host-a","queues":["workflows","llm","documents"],"last_seen":%q,"slots_used":37,"slots_free":63},{"identity":"771@host-b","queues":["video"],"last_seen":%q,"slots_used":0,"slots_free":20}],
		"kinds":[{"kind":"summary","running":3,"succeeded":812,"failed":4,"p50_seconds":42,"p95_seconds":610},{"kind":"qa","running":0,"succeeded":96,"failed":0,"p50_seconds":8,"p95_seconds":31}]}`,
		time.Now().Add(48*time.Second).UTC().Format(time.RFC3339), at(2*time.Second), at(5*time.Second)))
}

const summaryResult = `{"digest":"## The harbour\n\nBoth reports agree that it is **deeper** now.\n\n- rebuilt in 1911\n- larger ships call\n\n| year | depth |\n| --- | --- |\n| 1900 | 6 m |\n| 1911 | 9 m |",
	"documents":[{"index":0,"name":"annual-report.pdf","status":"succeeded","summary":"The harbour was rebuilt in 1911. See [the survey](https://example.org/survey).","parts":3,"missing":["page 7 could not be read"]},
	{"index":1,"name":"扫描件.pdf","status":"failed","error":{"code":"no_extractable_text","title":"Document without text","detail":"the pages are pictures; it needs OCR"}}]}`

const qaResult = `{"documents":[],"answers":[{"index":0,"status":"succeeded","question":"When was the harbour rebuilt?","answer":"In **1911**.","supported":true,
	"citations":[{"document":0,"name":"report.pdf","page":3,"section":"History","quote":"The harbour was rebuilt in 1911.","start":0,"end":30}]},
	{"index":1,"status":"succeeded","question":"Who paid for it?","answer":"The documents do not say.","supported":false,"citations":[]}]}`
