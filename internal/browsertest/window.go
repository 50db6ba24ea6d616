package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Window is a browser window with its own storage for one server. Its methods fail the test on errors.
type Window struct {
	T   *testing.T
	Ctx context.Context
	URL string // base URL of the server

	mu        sync.Mutex
	requested []string // requested addresses
	console   []string // errors and warnings, including policy violations
}

// Open opens an empty window that is closed after the given time at most. At the end of the test it fails if the
// console has messages or other servers were contacted.
func Open(t *testing.T, browser context.Context, url string, within time.Duration) *Window {
	t.Helper()
	w := &Window{T: t, URL: url}
	ctx, closeWindow := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(w.handle))
	t.Cleanup(closeWindow)
	ctx, cancel := context.WithTimeout(ctx, within)
	t.Cleanup(cancel)
	w.Ctx = ctx
	w.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		return err
	}))
	t.Cleanup(w.check)
	return w
}

// handle records requests and console messages from browser events.
func (w *Window) handle(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.requested = append(w.requested, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			w.console = append(w.console, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		w.console = append(w.console, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		w.console = append(w.console, "console."+string(e.Type))
	}
}

func (w *Window) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.T, w.console, "messages on the console")
	require.NotEmpty(w.T, w.requested)
	for _, address := range w.requested {
		require.True(w.T, strings.HasPrefix(address, w.URL+"/") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "blob:"+w.URL), "the page requested %s", address)
	}
}

// Asked returns the requested addresses.
func (w *Window) Asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requested)
}

// Forgive removes console messages that contain a text, and fails if there are none.
func (w *Window) Forgive(text string) {
	w.T.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var rest []string
	for _, line := range w.console {
		if !strings.Contains(line, text) {
			rest = append(rest, line)
		}
	}
	require.NotEqual(w.T, len(rest), len(w.console), "%q is not on the console: %v", text, w.console)
	w.console = rest
}

// Do runs steps in the window.
func (w *Window) Do(steps ...chromedp.Action[chromedp.Void]) {
	w.T.Helper()
	require.NoError(w.T, chromedp.Do(w.Ctx, steps...))
}

// Visit opens a page of the server.
func (w *Window) Visit(path string) {
	w.T.Helper()
	w.Do(chromedp.Navigate(w.URL + path))
}

// Eval returns the value of an expression in the page, after awaiting a promise.
func Eval[T any](w *Window, expression string) T {
	w.T.Helper()
	value, err := chromedp.Run(w.Ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(w.T, err, expression)
	return value
}

// Until waits up to 30 seconds for a condition in the page, and prints the page if it fails. A condition that throws,
// for example because an element is missing, counts as false.
func (w *Window) Until(condition string) { w.UntilWithin(30*time.Second, condition) }

// UntilWithin is Until with another timeout.
func (w *Window) UntilWithin(patience time.Duration, condition string) {
	w.T.Helper()
	met := "(() => { try { return !!(" + condition + ") } catch { return false } })()"
	_, err := chromedp.Run(w.Ctx, chromedp.Poll[bool](met, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil {
		require.NoError(w.T, err, "%s\n%s", condition, Eval[string](w, "document.body.innerText"))
	}
}

// Text returns the visible text of an element.
func (w *Window) Text(selector string) string {
	w.T.Helper()
	return Eval[string](w, "document.querySelector(`"+selector+"`).innerText")
}

// Click clicks the first element of a selector, if there is one.
func (w *Window) Click(selector string) {
	w.T.Helper()
	w.Until("document.querySelector(`" + selector + "`)")
	w.Do(chromedp.Evaluate[chromedp.Void]("document.querySelector(`" + selector + "`).click(); undefined"))
}

// Fill sets the value of a field and fires its events.
func (w *Window) Fill(selector, text string) {
	w.T.Helper()
	w.Until("document.querySelector(`" + selector + "`)")
	quoted, err := json.Marshal(text)
	require.NoError(w.T, err)
	w.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("{const f = document.querySelector(`%s`); f.value = %s; f.dispatchEvent(new Event('input', {bubbles: true})); f.dispatchEvent(new Event('change', {bubbles: true}))}; undefined", selector, quoted)))
}

// Drop drops a file on the first element of a selector.
func (w *Window) Drop(selector, name, content string) {
	w.T.Helper()
	w.Until("document.querySelector(`" + selector + "`)")
	quoted, err := json.Marshal([]string{content, name})
	require.NoError(w.T, err)
	w.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("{const [content, name] = %s; const data = new DataTransfer(); data.items.add(new File([content], name)); document.querySelector(`%s`).dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))}; undefined", quoted, selector)))
}
