package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
				w.Visit("/new/" + kind.Name)
				w.Click("#example")
				if way != "form" {
					w.Click("[data-face=json]")
				}
				if way == "there and back" {
					w.Click("[data-face=form]")
				}
				w.Click("#submit")
				w.Until("document.querySelector('#task-id')")
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
	w.T.Helper()
	drafts := w.tasks.Drafts()
	require.NotEmpty(w.T, drafts)
	return drafts[len(drafts)-1]
}

func seeFieldsSent(w *window) {
	w.Visit("/new/agent")
	w.Fill("[name=goal]", "写一份报告")
	w.Click("fieldset.group .add")
	w.Click("li.entry input[value=http]")
	w.Fill("li.entry [name=name]", "tickets")
	w.Fill("li.entry [name=description]", "makes a ticket")
	w.Fill("li.entry [name=url]", "https://tickets.example/new")
	w.Fill("li.entry [name=method]", "POST")
	w.Fill("li.entry [name=headers]", "X-Team: harbour: east")
	w.Fill("li.entry [name=parameters]", `{"type":"object"}`)
	w.Fill("li.entry [name=approval]", "always")
	w.Fill("[name=max_steps]", "7")
	w.Fill("[name=labels]", "project: atlas\nwave=3")
	w.Fill("[name=priority]", "2")
	w.Fill("[name=deadline]", "2h")
	w.Fill("[name=budget]", "1.5")
	w.Fill("[name=model]", "m-1")
	w.Click("#submit")
	w.Until("document.querySelector('#task-id')")
	require.JSONEq(w.T, `{"goal":"写一份报告","max_steps":7,"tools":[{"approval":"always","http":{"name":"tickets","description":"makes a ticket",
		"url":"https://tickets.example/new","method":"POST","headers":{"X-Team":"harbour: east"},"parameters":{"type":"object"}}}]}`, string(w.sent().Input))
	options := w.sent().Options
	require.Equal(w.T, map[string]string{"project": "atlas", "wave": "3"}, options.Labels)
	require.Equal(w.T, 2, options.Priority)
	require.InDelta(w.T, 1.5, options.Budget, 0)
	require.Equal(w.T, "m-1", options.Model)
	require.Positive(w.T, options.Within)
}

func seeFaults(w *window) {
	w.Visit("/new/classify")
	w.Click("input[value=rows]")
	w.Fill("[name=rows]", "{\"text\":\"a\"}\nplain")
	w.Fill("[name=pack]", "51")
	w.Fill("[name=delay]", "soon")
	w.Click("#submit")
	w.Until("document.querySelectorAll('.fault:not([hidden])').length >= 3")
	at := func(name string) string {
		return eval[string](w, "document.querySelector('[name="+name+"]').closest('.field').querySelector('.fault').innerText")
	}
	require.Contains(w.T, at("pack"), "at most 50")
	require.Contains(w.T, at("name"), "required")
	require.True(w.T, eval[bool](w, "document.querySelector('[name=pack]').checkVisibility()"), "the settings unfold")
	w.Fill("[name=pack]", "10")
	w.Fill("li:nth-child(1) [name=name]", "a")
	w.Fill("li:nth-child(2) [name=name]", "b")
	w.Click("#submit")
	w.Until("document.querySelector('[name=delay][aria-invalid]')?.checkVisibility()")
	require.Contains(w.T, at("delay"), "duration such as 90s")
	require.Empty(w.T, at("pack"), "what was mended is not blamed")
	w.Fill("[name=delay]", "90s")
	w.Click("#submit")
	w.Until("document.querySelector('#task-id')")
	require.JSONEq(w.T, `{"rows":[{"text":"a"},"plain"],"labels":[{"name":"a"},{"name":"b"}],"pack":10}`, string(w.sent().Input))
	w.Forgive("422")
}

func seeNoJSON(w *window) {
	w.Visit("/new/summary")
	w.Click("[data-face=json]")
	w.Fill(".face:not([hidden]) textarea.code", `{"kind":`)
	w.Click("#submit")
	w.Until("document.querySelector('.note.bad:not([hidden])')?.innerText.includes('not JSON')")
	w.Click("[data-face=form]")
	require.True(w.T, eval[bool](w, "document.querySelector('.face:not([hidden]) textarea.code') !== null"), "nothing typed is lost")
	w.Fill(".face:not([hidden]) textarea.code", `{"kind":"summary","input":{"documents":[]},"wrods":1}`)
	w.Click("#submit")
	w.Until("document.querySelector('.note.bad:not([hidden])')?.innerText.includes('wrods')")
	require.Empty(w.T, w.tasks.Drafts())
	w.Forgive("422")
}

func seeSentTwice(w *window) {
	w.Visit("/new/summary")
	w.Click("#example")
	w.Do(chromedp.Evaluate[chromedp.Void]("document.querySelector('form.sheet').requestSubmit(); document.querySelector('form.sheet').requestSubmit(); undefined"))
	w.Until("document.querySelector('#task-id')")
	require.Len(w.T, w.tasks.Drafts(), 1)
}

func seeFilesUploaded(w *window) {
	dir := w.T.TempDir()
	var files []string
	for i, name := range []string{"财报 2025.txt", "a'b\"c.txt"} {
		file := filepath.Join(dir, name)
		require.NoError(w.T, os.WriteFile(file, fmt.Appendf(nil, "content %d", i), 0o600))
		files = append(files, file)
	}
	w.Visit("/new/summary")
	w.Until("document.querySelector('input[type=file]')")
	w.Do(chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), files))
	w.Until("document.querySelectorAll('li.entry').length === 2")
	w.Click("#submit")
	w.Until("document.querySelector('#task-id')")
	var input task.SummaryInput
	require.NoError(w.T, json.Unmarshal(w.sent().Input, &input))
	require.Equal(w.T, "财报 2025.txt", input.Documents[0].Name)
	require.Equal(w.T, `a'b"c.txt`, input.Documents[1].Name)
	require.NotEmpty(w.T, input.Documents[1].FileID)
	require.Equal(w.T, "content 0", eval[string](w, "fetch('/v1/files/"+input.Documents[0].FileID+"/content').then((a) => a.text())"))
}

// A file of rows dropped with the mouse, with a key; one that is too large says so, and can be tried again.
func seeFilesDropped(w *window) {
	w.Visit("/new/embed")
	w.Until("document.querySelector('#login')?.open")
	w.Do(chromedp.SendKeys(chromedp.CSS("#key"), "sesame\r"))
	w.Click("input[value=file_id]")
	w.Drop(".drop", "行.jsonl", strings.Repeat("x", 1<<20+1))
	w.Until("document.querySelector('.uploads .bad')?.innerText.includes('1048576 bytes')")
	w.Drop(".drop", "行.jsonl", strings.Repeat("x", 10))
	w.Until("document.querySelector('.uploads').innerText.includes('10 byte') && !document.querySelector('.uploads progress')")
	w.Click("#submit")
	w.Until("document.querySelector('#task-id')")
	var input task.EmbedInput
	require.NoError(w.T, json.Unmarshal(w.sent().Input, &input))
	require.NotEmpty(w.T, input.File.FileID)
	require.Equal(w.T, "acme", w.sent().Tenant)
	w.Forgive("413")
	w.Forgive("401")
}
