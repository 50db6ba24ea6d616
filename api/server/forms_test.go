package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/app"
	"longhaul/internal/task"
)

// A form that is filled with the example of a kind sends that example, by its fields and by its JSON.
func TestForms_everyKind(t *testing.T) {
	t.Parallel()
	shared := browser(t)
	for _, kind := range app.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			w := open(t, shared, withEverything)
			for n, way := range []string{"form", "json", "there and back"} {
				w.visit("/new/" + kind.Name)
				w.click("#example")
				if way != "form" {
					w.click("[data-face=json]")
				}
				if way == "there and back" {
					w.click("[data-face=form]")
				}
				w.click("#submit")
				w.until("document.querySelector('#task-id')")
				drafts := w.tasks.Drafts()
				require.Len(t, drafts, n+1, way)
				var example struct{ Input json.RawMessage }
				require.NoError(t, json.Unmarshal(kind.Example, &example))
				require.Equal(t, kind.Name, drafts[n].Kind)
				require.JSONEq(t, string(example.Input), string(drafts[n].Input), way)
				require.Len(t, drafts[n].IdempotencyKey, 32)
			}
		})
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	shared := browser(t)
	for name, test := range map[string]struct {
		change func(*server.Parts)
		see    func(w *window)
	}{
		"options and nested fields":   {withEverything, seeFieldsSent},
		"faults stand at their field": {withEverything, seeFaults},
		"what is no JSON":             {withEverything, seeNoJSON},
		"sent twice is one task":      {withEverything, seeSentTwice},
		"files are uploaded":          {withEverything, seeFilesUploaded},
		"files are dropped":           {withKeyAndKinds, seeFilesDropped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.see(open(t, shared, test.change))
		})
	}
}

func withKeyAndKinds(p *server.Parts) {
	withKey(p)
	withEverything(p)
}

// sent is the input of the last task.
func (w *window) sent() task.Draft {
	w.t.Helper()
	drafts := w.tasks.Drafts()
	require.NotEmpty(w.t, drafts)
	return drafts[len(drafts)-1]
}

func seeFieldsSent(w *window) {
	w.visit("/new/agent")
	w.fill("[name=goal]", "写一份报告")
	w.click("fieldset.group .add")
	w.click("li.entry input[value=http]")
	w.fill("li.entry [name=name]", "tickets")
	w.fill("li.entry [name=description]", "makes a ticket")
	w.fill("li.entry [name=url]", "https://tickets.example/new")
	w.fill("li.entry [name=method]", "POST")
	w.fill("li.entry [name=headers]", "X-Team: harbour: east")
	w.fill("li.entry [name=parameters]", `{"type":"object"}`)
	w.fill("li.entry [name=approval]", "always")
	w.fill("[name=max_steps]", "7")
	w.fill("[name=labels]", "project: atlas\nwave=3")
	w.fill("[name=priority]", "2")
	w.fill("[name=deadline]", "2h")
	w.fill("[name=budget]", "1.5")
	w.fill("[name=model]", "m-1")
	w.click("#submit")
	w.until("document.querySelector('#task-id')")
	require.JSONEq(w.t, `{"goal":"写一份报告","max_steps":7,"tools":[{"approval":"always","http":{"name":"tickets","description":"makes a ticket",
		"url":"https://tickets.example/new","method":"POST","headers":{"X-Team":"harbour: east"},"parameters":{"type":"object"}}}]}`, string(w.sent().Input))
	options := w.sent().Options
	require.Equal(w.t, map[string]string{"project": "atlas", "wave": "3"}, options.Labels)
	require.Equal(w.t, 2, options.Priority)
	require.InDelta(w.t, 1.5, options.Budget, 0)
	require.Equal(w.t, "m-1", options.Model)
	require.Positive(w.t, options.Within)
}

func seeFaults(w *window) {
	w.visit("/new/classify")
	w.click("input[value=rows]")
	w.fill("[name=rows]", "{\"text\":\"a\"}\nplain")
	w.fill("[name=pack]", "51")
	w.fill("[name=delay]", "soon")
	w.click("#submit")
	w.until("document.querySelectorAll('.fault:not([hidden])').length >= 3")
	at := func(name string) string {
		return eval[string](w, "document.querySelector('[name="+name+"]').closest('.field').querySelector('.fault').innerText")
	}
	require.Contains(w.t, at("pack"), "at most 50")
	require.Contains(w.t, at("name"), "required")
	require.True(w.t, eval[bool](w, "document.querySelector('[name=pack]').checkVisibility()"), "the settings unfold")
	w.fill("[name=pack]", "10")
	w.fill("li:nth-child(1) [name=name]", "a")
	w.fill("li:nth-child(2) [name=name]", "b")
	w.click("#submit")
	w.until("document.querySelector('[name=delay][aria-invalid]')?.checkVisibility()")
	require.Contains(w.t, at("delay"), "duration such as 90s")
	require.Empty(w.t, at("pack"), "what was mended is not blamed")
	w.fill("[name=delay]", "90s")
	w.click("#submit")
	w.until("document.querySelector('#task-id')")
	require.JSONEq(w.t, `{"rows":[{"text":"a"},"plain"],"labels":[{"name":"a"},{"name":"b"}],"pack":10}`, string(w.sent().Input))
	w.forgive("422")
}

func seeNoJSON(w *window) {
	w.visit("/new/summary")
	w.click("[data-face=json]")
	w.fill(".face:not([hidden]) textarea.code", `{"kind":`)
	w.click("#submit")
	w.until("document.querySelector('.note.bad:not([hidden])')?.innerText.includes('not JSON')")
	w.click("[data-face=form]")
	require.True(w.t, eval[bool](w, "document.querySelector('.face:not([hidden]) textarea.code') !== null"), "nothing typed is lost")
	w.fill(".face:not([hidden]) textarea.code", `{"kind":"summary","input":{"documents":[]},"wrods":1}`)
	w.click("#submit")
	w.until("document.querySelector('.note.bad:not([hidden])')?.innerText.includes('wrods')")
	require.Empty(w.t, w.tasks.Drafts())
	w.forgive("422")
}

func seeSentTwice(w *window) {
	w.visit("/new/summary")
	w.click("#example")
	w.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('form.sheet').requestSubmit(); document.querySelector('form.sheet').requestSubmit(); undefined"))
	w.until("document.querySelector('#task-id')")
	require.Len(w.t, w.tasks.Drafts(), 1)
}

func seeFilesUploaded(w *window) {
	dir := w.t.TempDir()
	var files []string
	for i, name := range []string{"财报 2025.txt", "a'b\"c.txt"} {
		file := filepath.Join(dir, name)
		require.NoError(w.t, os.WriteFile(file, fmt.Appendf(nil, "content %d", i), 0o600))
		files = append(files, file)
	}
	w.visit("/new/summary")
	w.until("document.querySelector('input[type=file]')")
	w.do(chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), files))
	w.until("document.querySelectorAll('li.entry').length === 2")
	w.click("#submit")
	w.until("document.querySelector('#task-id')")
	var input task.SummaryInput
	require.NoError(w.t, json.Unmarshal(w.sent().Input, &input))
	require.Equal(w.t, "财报 2025.txt", input.Documents[0].Name)
	require.Equal(w.t, `a'b"c.txt`, input.Documents[1].Name)
	require.NotEmpty(w.t, input.Documents[1].FileID)
	require.Equal(w.t, "content 0", eval[string](w, "fetch('/v1/files/"+input.Documents[0].FileID+"/content').then((a) => a.text())"))
}

// A file of rows dropped with the mouse, with a key; one that is too large says so, and can be tried again.
func seeFilesDropped(w *window) {
	w.visit("/new/embed")
	w.until("document.querySelector('#login')?.open")
	w.do(chromedp.SendKeys(chromedp.CSS("#key"), "sesame\r"))
	w.click("input[value=file_id]")
	drop := func(size int) {
		w.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{const data = new DataTransfer(); data.items.add(new File(["x".repeat(%d)], "行.jsonl"));
			document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }))}; undefined`, size)))
	}
	drop(1<<20 + 1)
	w.until("document.querySelector('.uploads .bad')?.innerText.includes('1048576 bytes')")
	drop(10)
	w.until("document.querySelector('.uploads').innerText.includes('10 byte') && !document.querySelector('.uploads progress')")
	w.click("#submit")
	w.until("document.querySelector('#task-id')")
	var input task.EmbedInput
	require.NoError(w.t, json.Unmarshal(w.sent().Input, &input))
	require.NotEmpty(w.t, input.File.FileID)
	require.Equal(w.t, "acme", w.sent().Tenant)
	w.forgive("413")
	w.forgive("401")
}
